"""The checks, one to a module. Each module has one `CHECK`; `nagaya.cloud.lint.catalog` has them all."""
