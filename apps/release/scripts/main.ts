/**
 * The release's commands: `manifests` completes the packages' manifests; `check` packs every package and tries the tarballs as
 * a stranger would; `changeset` describes a change; `version` makes the next version of it, and `publish` checks and publishes.
 */
import { changesets } from "./Changesets.ts"
import * as Manifests from "./Manifests.ts"
import * as ReleaseCheck from "./ReleaseCheck.ts"

const succeed = (code: number): void => {
  if (code !== 0) throw new Error(`changesets ended with ${code}`)
}

const tasks: Readonly<Record<string, (args: ReadonlyArray<string>) => Promise<void>>> = {
  check: ReleaseCheck.check,
  manifests: async () => {
    for (const path of Manifests.write()) process.stdout.write(`${path}\n`)
  },
  changeset: async (args) => succeed(changesets(args)),
  version: async () => succeed(changesets(["version"])),
  publish: async () => {
    await ReleaseCheck.check()
    succeed(changesets(["publish"]))
  }
}

const [name = "publish", ...args] = process.argv.slice(2)
const task = Object.hasOwn(tasks, name) ? tasks[name] : undefined
if (task === undefined) {
  process.stderr.write(`The task "${name}" is unknown; the tasks are ${Object.keys(tasks).join(", ")}.\n`)
  process.exitCode = 2
} else {
  await task(args).catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
    process.exitCode = 1
  })
}
