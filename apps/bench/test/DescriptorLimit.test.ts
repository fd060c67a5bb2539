import { execFileSync } from "node:child_process"
import { fileURLToPath } from "node:url"

import { assert, describe, it } from "@effect/vitest"

import * as DescriptorLimit from "../src/DescriptorLimit.ts"

const module = fileURLToPath(new URL("../src/DescriptorLimit.ts", import.meta.url))

describe("read", () => {
  it.skipIf(process.platform === "win32")("reads the limit under which a process was started", () => {
    const program = `import(${JSON.stringify(module)}).then(({ read }) => console.log(read()))`
    const script = `ulimit -n 512 && exec "$0" --input-type=module -e "$1"`
    const seen = execFileSync("/bin/sh", ["-c", script, process.execPath, program], { encoding: "utf8" })
    assert.strictEqual(Number(seen), 512)
  })
})

describe("refusal", () => {
  it("names the limit, the need and both ways out, and lets pass what fits", () => {
    assert.strictEqual(DescriptorLimit.refusal(10_000, 10_256), undefined)
    assert.strictEqual(DescriptorLimit.refusal(10_000, Number.POSITIVE_INFINITY), undefined)
    assert.strictEqual(
      DescriptorLimit.refusal(10_000, 1_024),
      '10000 streams need 10256 descriptors in one process, and this system allows 1024: run "ulimit -n 10256", or the bench with --streams 768'
    )
  })
})
