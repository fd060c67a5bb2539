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
    sqlite: "e9a35953abcbf31e48ffa4bb49f3810be92d5a67a0c37dfbb63deb0522608ac5",
    pg: "027cbd6456daa314c61fb68ff8bbafccebba32354aa02a3b90a2cc248f076ede"
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
  },
  {
    sqlite: "ad3b5971a7ab0be825e9b0a21c5ebebd3f60a55c3a88363255216932a7967b4b",
    pg: "ad3b5971a7ab0be825e9b0a21c5ebebd3f60a55c3a88363255216932a7967b4b"
  },
  {
    sqlite: "c40de74d585ed72745b4dd0b2d1f76d72d7e1de90716f3ee0dd264c2344206a5",
    pg: "c40de74d585ed72745b4dd0b2d1f76d72d7e1de90716f3ee0dd264c2344206a5"
  },
  {
    sqlite: "acdd7cfcd5c1f3658397b43478d4dad03d5a9b93c194912172112586853a3368",
    pg: "acdd7cfcd5c1f3658397b43478d4dad03d5a9b93c194912172112586853a3368"
  },
  {
    sqlite: "fef487dcc2494029ff7b2af9eca0aae029d6390f2eae5d1d4bc87644990009e2",
    pg: "fef487dcc2494029ff7b2af9eca0aae029d6390f2eae5d1d4bc87644990009e2"
  },
  {
    sqlite: "c8c57b30c45c28c45e29ac553a99b69732ad81e64fde4ca3cad2e966bb3d4cb6",
    pg: "c8c57b30c45c28c45e29ac553a99b69732ad81e64fde4ca3cad2e966bb3d4cb6"
  },
  {
    sqlite: "b2c28bcab5d1c3fdb42afe400bb6d39a36d5fc9be8e2ad28f79f1baecf300fbc",
    pg: "b2c28bcab5d1c3fdb42afe400bb6d39a36d5fc9be8e2ad28f79f1baecf300fbc"
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
