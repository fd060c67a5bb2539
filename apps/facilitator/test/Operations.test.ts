/** The files for operators: each says what the service is and does now. */
import { readFileSync } from "node:fs"
import { join } from "node:path"

import { assert, describe, it } from "@effect/vitest"

import * as GrafanaBoard from "../scripts/GrafanaBoard.ts"
import { variableNames } from "../src/settings/ServiceVariables.ts"

const read = (name: string) => readFileSync(join(import.meta.dirname, "..", name), "utf8")
const manifest: unknown = JSON.parse(read("package.json"))
const program = "node_modules/@pontage/facilitator/dist/main.js"

describe("the Grafana board", () => {
  const all = GrafanaBoard.metrics()

  it("has a place for every metric of the service, each with its description", () => {
    assert.isAbove(all.length, 20)
    assert.deepStrictEqual(GrafanaBoard.unplaced(all), [])
    for (const { description, name } of all) assert.isAbove(description.length, 10, name)
  })

  it("is the one that is generated, so that each of its metrics exists", () => {
    assert.deepStrictEqual<unknown>(JSON.parse(read("grafana-dashboard.json")), GrafanaBoard.board(all))
  })

  it("shows no metric that the README does not name", () => {
    const page = read("README.md")
    for (const { name } of all) {
      const shortened = name.split("_").map((_, at, parts) => `\`_${parts.slice(at).join("_")}\``)
      assert.isTrue(
        [`\`${name}\``, ...shortened].some((text) => page.includes(text)),
        name
      )
    }
  })
})

describe("the container, compose and systemd files", () => {
  const files = ["Dockerfile", "compose.yaml", "pontage-facilitator.service"]

  it("are in the package, and start its command", () => {
    for (const name of files) assert.include(JSON.stringify(manifest), name)
    assert.include(JSON.stringify(manifest), "./dist/main.js")
    assert.include(read("Dockerfile"), `ENTRYPOINT ["node", "${program}"]`)
    assert.include(read("pontage-facilitator.service"), program)
  })

  it("set variables that the service knows", () => {
    const known = new Set([...variableNames, "PONTAGE_VERSION"])
    for (const name of files) {
      for (const [variable] of read(name).matchAll(/PONTAGE_[A-Z0-9_]+/g)) assert.isTrue(known.has(variable), variable)
    }
  })

  it("give the service the time that it takes to stop", () => {
    assert.include(read("compose.yaml"), "stop_grace_period: 30s")
    assert.include(read("pontage-facilitator.service"), "TimeoutStopSec=30")
  })
})
