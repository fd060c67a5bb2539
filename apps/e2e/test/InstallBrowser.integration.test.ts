import { execFile } from "node:child_process"
import { once } from "node:events"
import { watch } from "node:fs"
import { mkdtemp, readdir, rm, stat } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"

import { afterAll, beforeAll, describe, expect, it } from "vitest"

const run = promisify(execFile)
const script = join(import.meta.dirname, "../scripts/InstallBrowser.ts")

/** Unpacks the browser into the folder of its argument, and prints how many bytes its program has at once. */
const unpackAndMeasure = `
  import { statSync } from "node:fs"
  import { unpackBrowser } from ${JSON.stringify(script)}
  console.log(statSync(unpackBrowser(process.argv[1])).size)
`

describe("a browser that several processes install at once", () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "pontage-browser-"))
  })
  afterAll(() => rm(folder, { recursive: true }))

  it("is whole for each of them, and leaves nothing else behind", async () => {
    const target = join(folder, "browser")
    const measured = async () =>
      Number((await run(process.execPath, ["--input-type=module", "--eval", unpackAndMeasure, target])).stdout)
    const watcher = watch(folder)
    const begun = once(watcher, "change")
    const first = measured()
    // The second one comes while the first is at it.
    await begun
    watcher.close()
    const sizes = await Promise.all([first, measured()])
    const { size } = await stat(join(target, "chromium"))
    expect(sizes).toEqual([size, size])
    expect(await readdir(folder)).toEqual(["browser"])
  })
})
