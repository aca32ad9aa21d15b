# The fuzz targets. As programs of `make check` they replay their corpus; `make fuzz` builds them anew for libFuzzer.
FUZZ_TARGETS = frame message startup recognise ini hba scram session
FUZZ_BIN = $(FUZZ_TARGETS:%=$(BUILD)/tests/fuzz/%)
FUZZ_SRC = $(wildcard tests/fuzz/*.c)
FUZZ_OBJ = $(FUZZ_SRC:%.c=$(BUILD)/%.o)
FUZZ_LIBS = $(foreach b,$(BELOW_session),$(BUILD)/$(b).a)
FUZZ_WORLD = $(patsubst %,$(BUILD)/tests/replay/%.o,world servers message words) $(BUILD)/tests/fuzz/invariants.o

# With FUZZER=1 libFuzzer has the main().
FUZZ_MAIN = $(if $(FUZZER),,$(BUILD)/tests/fuzz/replay.o)

$(BUILD)/tests/fuzz/%.o: tests/fuzz/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(Q)echo "  CC   $@"; $(CC) $(LK_CFLAGS) -Itests -MMD -MP -c -o $@ $<
$(BUILD)/tests/fuzz/startup $(BUILD)/tests/fuzz/session: $(FUZZ_WORLD)
$(FUZZ_BIN): %: %.o $(FUZZ_MAIN) $(FUZZ_LIBS)
	$(Q)echo "  LD   $@"; $(CC) $(LK_CFLAGS) $(LDFLAGS) $(if $(FUZZER),-fsanitize=fuzzer) -o $@ $(filter %.o,$^) $(FUZZ_LIBS) $(LK_LIBS)

-include $(FUZZ_OBJ:.o=.d)

FUZZ ?= $(FUZZ_TARGETS)
FUZZ_SECONDS ?= 60
FUZZ_CFLAGS = $(SANITIZE) -fno-sanitize-recover=all -fsanitize=fuzzer-no-link -w
.PHONY: fuzz fuzz-bin
fuzz: ## FUZZ_SECONDS of libFuzzer for each target, or for FUZZ=session; needs clang and libclang-rt-14-dev
	@$(MAKE) $(JOBS) CI= BUILD=build-fuzz CC=clang FUZZER=1 CFLAGS='$(FUZZ_CFLAGS)' fuzz-bin
	@for t in $(FUZZ); do \
	    log=build-fuzz/found/$$t.log; \
	    mkdir -p build-fuzz/corpus/$$t build-fuzz/found; \
	    build-fuzz/tests/fuzz/$$t -max_total_time=$(FUZZ_SECONDS) -max_len=2048 -timeout=20 \
	        -artifact_prefix=build-fuzz/found/$$t- build-fuzz/corpus/$$t tests/fuzz/corpus/$$t >$$log 2>&1 || \
	        { grep -A40 -E 'must hold|ERROR|runtime error' $$log; exit 1; }; \
	    echo "$$t: $$(tail -1 $$log)"; \
	done
fuzz-bin: $(FUZZ_BIN)
