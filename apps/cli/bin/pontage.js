#!/usr/bin/env node
// A file that is always there, so that a fresh checkout has the command before anything is compiled.
import("../dist/main.js").catch((error) => {
  if (error?.code !== "ERR_MODULE_NOT_FOUND" || !String(error.message).includes("dist/main.js")) throw error
  console.error("pontage is not compiled yet: run npm start once, or npm run build")
  process.exitCode = 1
})
