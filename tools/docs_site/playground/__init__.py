"""The playground: a page that compiles, explains and runs kernels in the browser, by Pyodide. `make playground`."""
