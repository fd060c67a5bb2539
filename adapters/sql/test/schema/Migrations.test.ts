import { createHash } from "node:crypto"

import { assert, describe, it } from "@effect/vitest"

import * as Migration from "../../src/schema/Migration.ts"
import * as Migrations from "../../src/schema/Migrations.ts"

/**
 * Digests of the statements of every migration on main, in order: databases have gone through these. A line of this list
 * never changes; a new migration adds one (`adapters/sql/README.md`).
 */
const frozen = [
  {
    sqlite: "b5fbee95fa86a8f81ac5b645e843018b054a0b7fc3875b8b417d7b2b4449b2b6",
    pg: "4f7f880f5a24ed7d90d1e6c3bf384d8677ecd08acdd2d66278422b5ea55209d3"
  },
  {
    sqlite: "ad04bd452ba28c250dc173f056d49b54dad97bcc776a916f9fab70f2316da183",
    pg: "0ccf182fd8c338166f0831f5466bcba46c286a9c24f8ea7bd256cdba6f22d581"
  },
  {
    sqlite: "15ad220f5797bc820473098e2dd686203a02e767593c73c2d0dd0e86c24aa7a1",
    pg: "15ad220f5797bc820473098e2dd686203a02e767593c73c2d0dd0e86c24aa7a1"
  },
  {
    sqlite: "996a178c653c0fe26b0c0a2c1bf4746457b5dc0e48137989fcb968e8d515b90a",
    pg: "996a178c653c0fe26b0c0a2c1bf4746457b5dc0e48137989fcb968e8d515b90a"
  }
]

const digest = (migration: Migration.Migration, dialect: "sqlite" | "pg"): string =>
  createHash("sha256")
    .update(JSON.stringify([migration.name, migration.serves, Migration.statements(migration, dialect)]))
    .digest("hex")

describe("every migration", () => {
  it("is as it was when the first database went through it", () =>
    assert.deepStrictEqual(
      Migrations.all.map((one) => ({ sqlite: digest(one, "sqlite"), pg: digest(one, "pg") })),
      frozen,
      "a migration that is on main never changes: add one to the end, and its digests here"
    ))

  it("says which programs can work on its tables: its own at the latest, and never older ones than before it", () => {
    for (const [place, { serves }] of Migrations.all.entries()) {
      assert.isAtMost(serves, place + 1)
      assert.isAtLeast(serves, Migrations.all[place - 1]?.serves ?? 1)
    }
  })

  it("adds to older tables only what a program that knows nothing of it fills in", () => {
    const demanding = Migrations.all.flatMap(({ changes, name }) =>
      (["sqlite", "pg"] as const).flatMap((dialect) =>
        changes(dialect).flatMap((change) =>
          change._tag === "Column" && / NOT NULL\b/.test(change.definition) && !/ DEFAULT /.test(change.definition)
            ? [`${name}: ${change.table}.${change.column}`]
            : []
        )
      )
    )
    assert.deepStrictEqual(demanding, [])
  })

  it("has a name of its own", () =>
    assert.strictEqual(new Set(Migrations.all.map(({ name }) => name)).size, Migrations.all.length))
})
