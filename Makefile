# Lockkeeper. `make help` lists the targets.
.DELETE_ON_ERROR:
SHELL = /bin/bash
CC ?= gcc
prefix ?= /usr/local
BUILD ?= build
CFLAGS ?= -O2 -g
LDFLAGS ?=
PYTHON ?= /usr/bin/python3

WARN = -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
       -Wcast-qual -Wwrite-strings -Wundef -Wformat=2 -Wvla -Wimplicit-fallthrough -Wno-unused-parameter
ifdef CI
WARN += -Werror
endif
LK_CFLAGS = -std=c11 -D_GNU_SOURCE -Isrc -pthread $(WARN) $(CFLAGS)
LK_LIBS = -levent_core -levent_pthreads -lssl -lcrypto -linih -lpg_query -lprotobuf-c -ljansson -lpthread -lm

# The folders from the top floor to the ground: the order in which archives are linked.
FOLDERS = net admin errand tool session auth pool sql journal wire config lock base
SRC = $(foreach f,$(FOLDERS),$(sort $(wildcard src/$(f)/*.c)))
ARCHIVES = $(foreach f,$(FOLDERS),$(if $(wildcard src/$(f)/*.c),$(BUILD)/$(f).a))
OBJ = $(SRC:src/%.c=$(BUILD)/obj/%.o)
MAIN_OBJ = $(BUILD)/obj/main.o

# What the unit tests of a folder link: its own archive and those below it (see src/LAYERS).
BELOW_base = base
BELOW_wire = wire base
BELOW_config = config base
BELOW_lock = lock base
BELOW_auth = auth wire config base
BELOW_pool = pool config base
BELOW_sql = sql lock wire base
BELOW_journal = journal lock base
BELOW_session = session auth pool sql wire config lock base
BELOW_admin = admin $(BELOW_session)
BELOW_net = net admin session auth pool sql journal wire config lock base

UNIT_SRC = $(sort $(wildcard tests/unit/*/test_*.c tests/property/*/test_*.c))
UNIT_BIN = $(UNIT_SRC:%.c=$(BUILD)/%)

.PHONY: help all deps demo run check check-unit check-integration check-asan check-all lint format clean install bench
help: ## this list
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

all: $(BUILD)/lockkeeper ## build the daemon, build/lockkeeper

$(BUILD)/lockkeeper: $(MAIN_OBJ) $(ARCHIVES) $(BUILD)/flags
	$(CC) $(LK_CFLAGS) $(LDFLAGS) -o $@ $(MAIN_OBJ) $(ARCHIVES) $(LK_LIBS)

# Rebuilds everything when the flags change.
$(BUILD)/flags: FORCE
	@mkdir -p $(BUILD); echo '$(CC) $(LK_CFLAGS) $(LDFLAGS)' | cmp -s - $@ || echo '$(CC) $(LK_CFLAGS) $(LDFLAGS)' > $@
.PHONY: FORCE
FORCE:

$(BUILD)/obj/%.o: src/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(LK_CFLAGS) -MMD -MP -c -o $@ $<

define archive
$(BUILD)/$(1).a: $$(patsubst src/%.c,$(BUILD)/obj/%.o,$$(wildcard src/$(1)/*.c))
	@rm -f $$@
	ar rcs $$@ $$^
endef
$(foreach f,$(FOLDERS),$(eval $(call archive,$(f))))

# tests/unit/lock/test_ledger.c links lock.a and what lies below it.
define unit
$(BUILD)/$(1): $(1).c $(BUILD)/flags $(foreach b,$(BELOW_$(2)),$(BUILD)/$(b).a)
	@mkdir -p $$(@D)
	$$(CC) $$(LK_CFLAGS) -Wno-missing-prototypes -Itests -MMD -MP $$(LDFLAGS) -o $$@ $(1).c $(foreach b,$(BELOW_$(2)),$(BUILD)/$(b).a) -lcmocka $$(LK_LIBS)
endef
$(foreach t,$(UNIT_SRC:%.c=%),$(eval $(call unit,$(t),$(word 3,$(subst /, ,$(t))))))

-include $(OBJ:.o=.d) $(MAIN_OBJ:.o=.d) $(UNIT_BIN:=.d)

clean: ## remove build/
	rm -rf $(BUILD)
