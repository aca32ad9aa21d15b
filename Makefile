# Lockkeeper. `make help` lists the targets.
.DELETE_ON_ERROR:
SHELL = /bin/bash
CC ?= gcc
prefix ?= /usr/local
docdir ?= $(prefix)/share/doc/lockkeeper
mandir ?= $(prefix)/share/man
BUILD ?= build
CFLAGS ?= -O2 -g
LDFLAGS ?=
PYTHON ?= /usr/bin/python3
MAKEFLAGS += --no-print-directory

# V=1 shows the commands themselves.
Q = $(if $(V),,@)

WARN = -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
       -Wcast-qual -Wwrite-strings -Wundef -Wformat=2 -Wvla -Wimplicit-fallthrough -Wno-unused-parameter
ifdef CI
WARN += -Werror
endif
# Debian keeps libpq-fe.h apart.
PG_INCLUDE := $(or $(shell pg_config --includedir 2>/dev/null),/usr/include/postgresql)
LK_CFLAGS = -std=c11 -D_GNU_SOURCE -Isrc -idirafter $(PG_INCLUDE) -pthread $(WARN) $(CFLAGS)
LK_LIBS = -levent_extra -levent_core -lssl -lcrypto -lpg_query -lprotobuf-c -ljansson -lpq -lz -lpthread -lm

# The folders from the top floor to the ground: the order in which archives are linked.
FOLDERS = net admin tool session auth pool sql journal wire config lock base
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
BELOW_tool = tool auth pool journal sql wire config lock base
BELOW_session = session auth pool sql wire config lock base
BELOW_admin = admin journal $(BELOW_session)
BELOW_net = net admin session auth pool sql journal wire config lock base

UNIT_SRC = $(sort $(wildcard tests/unit/*/test_*.c tests/property/*/test_*.c))
UNIT_BIN = $(UNIT_SRC:%.c=$(BUILD)/%)

.PHONY: help all deps demo run check check-unit check-integration check-jdbc check-asan check-all lint format clean install bench docs
help: ## this list
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

all: $(BUILD)/lockkeeper ## build the daemon, build/lockkeeper

$(BUILD)/lockkeeper: $(MAIN_OBJ) $(ARCHIVES) $(BUILD)/flags
	$(Q)echo "  LD   $@"; $(CC) $(LK_CFLAGS) $(LDFLAGS) -o $@ $(MAIN_OBJ) $(ARCHIVES) $(LK_LIBS)

# Rebuilds everything when the flags change.
$(BUILD)/flags: FORCE
	@mkdir -p $(BUILD); echo '$(CC) $(LK_CFLAGS) $(LDFLAGS)' | cmp -s - $@ || echo '$(CC) $(LK_CFLAGS) $(LDFLAGS)' > $@
.PHONY: FORCE
FORCE:

$(BUILD)/obj/%.o: src/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(Q)echo "  CC   $@"; $(CC) $(LK_CFLAGS) -MMD -MP -c -o $@ $<

define archive
$(BUILD)/$(1).a: $$(patsubst src/%.c,$(BUILD)/obj/%.o,$$(wildcard src/$(1)/*.c))
	@rm -f $$@
	$$(Q)ar rcs $$@ $$^
endef
$(foreach f,$(FOLDERS),$(eval $(call archive,$(f))))

# tests/unit/lock/test_ledger.c links lock.a and what lies below it.
define unit
$(BUILD)/$(1): $(1).c $(BUILD)/flags $(foreach b,$(BELOW_$(2)),$(BUILD)/$(b).a)
	@mkdir -p $$(@D)
	$$(Q)echo "  LD   $$@"; $$(CC) $$(LK_CFLAGS) -Wno-missing-prototypes -Itests -MMD -MP $$(LDFLAGS) -o $$@ $(1).c $(foreach b,$(BELOW_$(2)),$(BUILD)/$(b).a) -lcmocka $$(LK_LIBS)
endef
$(foreach t,$(UNIT_SRC:%.c=%),$(eval $(call unit,$(t),$(word 3,$(subst /, ,$(t))))))

# The player of scenarios links session.a and what lies below it.
REPLAY_BIN = $(BUILD)/tests/replay/play
REPLAY_OBJ = $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/replay/*.c))
$(BUILD)/tests/replay/%.o: tests/replay/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(Q)echo "  CC   $@"; $(CC) $(LK_CFLAGS) -MMD -MP -c -o $@ $<
$(REPLAY_BIN): $(REPLAY_OBJ) $(foreach b,$(BELOW_session),$(BUILD)/$(b).a)
	$(Q)echo "  LD   $@"; $(CC) $(LK_CFLAGS) $(LDFLAGS) -o $@ $^ $(LK_LIBS)

# What the generated documents are made from: the tables of options, printed.
OPTIONS_BIN = $(BUILD)/docs/tools/options
$(OPTIONS_BIN): docs/tools/options.c $(BUILD)/flags $(foreach b,$(BELOW_config),$(BUILD)/$(b).a)
	@mkdir -p $(@D)
	$(Q)echo "  LD   $@"; $(CC) $(LK_CFLAGS) -MMD -MP $(LDFLAGS) -o $@ $< $(foreach b,$(BELOW_config),$(BUILD)/$(b).a)

-include $(OPTIONS_BIN).d $(OBJ:.o=.d) $(MAIN_OBJ:.o=.d) $(UNIT_BIN:=.d) $(REPLAY_OBJ:.o=.d)

# ---- what people call

# All cores, unless make was told how many.
JOBS = $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell nproc))
DAEMON = $(abspath $(BUILD)/lockkeeper)
SANITIZE = -O1 -g -fsanitize=address,undefined -fno-omit-frame-pointer
include conf/debian/deb.mk
include tests/fuzz/fuzz.mk

deps: ## install the Debian packages that are missing
	@conf/deps.sh

demo: ## build all, play a short scene with PostgreSQL and psql, stop
	@$(MAKE) deps
	@$(MAKE) $(JOBS) all
	@LK_BIN='$(DAEMON)' conf/demo.sh play

run: ## the demo's PostgreSQL and Lockkeeper, kept running for your own psql
	@$(MAKE) deps
	@$(MAKE) $(JOBS) all
	@LK_BIN='$(DAEMON)' conf/demo.sh run

check: ## build and run all tests with a private PostgreSQL; the last line counts them
	@$(MAKE) deps
	@$(MAKE) $(JOBS) all $(UNIT_BIN) $(REPLAY_BIN) $(FUZZ_BIN)
	@LK_BIN='$(DAEMON)' PYTHON=$(PYTHON) tests/run_check.sh $(UNIT_BIN) $(REPLAY_BIN) $(FUZZ_BIN) --integration

check-unit: ## unit, property and replay tests and the fuzz corpus alone
	@$(MAKE) $(JOBS) $(UNIT_BIN) $(REPLAY_BIN) $(FUZZ_BIN)
	@tests/run_check.sh $(UNIT_BIN) $(REPLAY_BIN) $(FUZZ_BIN)

check-integration: ## integration tests alone; T=… narrows them (T="tests/integration/test_console.py -x")
	@$(MAKE) $(JOBS) all
	@LK_BIN='$(DAEMON)' PYTHON=$(PYTHON) tests/run_check.sh --integration $(T)

check-jdbc: ## integration tests with Java's driver, which check leaves out: a JDK is large
	@conf/deps.sh jdbc
	@$(MAKE) $(JOBS) all
	@LK_BIN='$(DAEMON)' PYTHON=$(PYTHON) tests/run_check.sh --integration tests/integration/test_jdbc.py

# Warnings are judged by the plain build: under the sanitizers gcc 12 finds array bounds that are none.
check-asan: ## check, built with ASan and UBSan (in build-asan)
	@$(MAKE) check CI= BUILD=build-asan CFLAGS='$(SANITIZE)'

check-all: ## check, check-asan and lint
	@$(MAKE) check
	@$(MAKE) check-asan
	@$(MAKE) lint

bench: ## throughput beside Debian's pgbouncer and a direct connection
	@conf/deps.sh bench
	@$(MAKE) $(JOBS) all
	@LK_BIN='$(DAEMON)' $(PYTHON) tests/bench/quick.py

docs: ## make sample configuration, manual pages and tables of the docs from the tables of options
	@$(MAKE) $(OPTIONS_BIN)
	@$(PYTHON) docs/tools/generate.py '$(OPTIONS_BIN)'

LINT_SRC = $(wildcard src/*.[ch] src/*/*.[ch])
lint: ## includes point down, sizes, no sleeping in tests, the docs are fresh and their links lead somewhere, cppcheck
	@conf/deps.sh lint
	@awk -f conf/layers.awk src/LAYERS $(LINT_SRC)
	@awk -f conf/lengths.awk $(LINT_SRC) $(UNIT_SRC) $(wildcard tests/replay/*.[ch] tests/fuzz/*.[ch])
	@! grep -rnE '(^|[^_[:alnum:]])(u|nano)?sleep(\(| [0-9$$])' tests --include=*.py --include=*.c --include=*.sh
	@for f in conf/*.sh tests/*.sh .ci/run; do bash -n $$f || exit 1; done
	@$(PYTHON) tests/docs/check_links.py
	@$(MAKE) $(OPTIONS_BIN)
	@$(PYTHON) docs/tools/generate.py '$(OPTIONS_BIN)' --check
	@$(PYTHON) tests/docs/check_facts.py
	@mandoc -T lint -W warning docs/man/*.[15]
	@cppcheck --quiet --error-exitcode=1 --std=c11 -j $(shell nproc) --enable=warning,performance,portability \
	    --inline-suppr --suppress=missingIncludeSystem --suppress=normalCheckLevelMaxBranches \
	    -Isrc $(wildcard src/*.c src/*/*.c)

format: ## clang-format on src and tests
	clang-format -i $(LINT_SRC) $(UNIT_SRC) docs/tools/*.c

INSTALLED_DOCS = README.md LICENSE conf/lockkeeper.ini $(wildcard docs/*.md)
install: all ## DESTDIR and prefix as usual
	install -D -m 755 '$(BUILD)/lockkeeper' '$(DESTDIR)$(prefix)/sbin/lockkeeper'
	install -D -m 644 docs/man/lockkeeper.1 '$(DESTDIR)$(mandir)/man1/lockkeeper.1'
	install -D -m 644 docs/man/lockkeeper.ini.5 '$(DESTDIR)$(mandir)/man5/lockkeeper.ini.5'
	for f in $(INSTALLED_DOCS); do install -D -m 644 $$f '$(DESTDIR)$(docdir)'/$$f || exit 1; done

clean: ## remove build/
	rm -rf build build-asan build-fuzz
