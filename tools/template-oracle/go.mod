module nagaya/tools/template-oracle

go 1.26
