# The Debian package; included by the Makefile.
.PHONY: deb check-deb
deb: ## build the Debian package (in build/deb)
	@conf/debian/build.sh '$(abspath $(BUILD))/deb'

check-deb: ## build the package and try it in a fresh Debian 12 (root, debootstrap, the machine's apt mirror)
	@$(MAKE) deb
	@conf/debian/check.sh '$(abspath $(BUILD))/deb'
