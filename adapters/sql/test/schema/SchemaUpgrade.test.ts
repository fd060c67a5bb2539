import { describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as SqlClient from "effect/sql/SqlClient"

import * as SqlDialect from "../../src/database/SqlDialect.ts"
import * as SqliteFile from "../../src/sqlite/SqliteFile.ts"
import * as DatabaseFile from "../DatabaseFile.ts"
import * as SchemaTrial from "./SchemaTrial.ts"

const client = Effect.flatMap(DatabaseFile.filename, (filename) =>
  Effect.flatMap(SqliteFile.open({ filename }), SqliteFile.toClient)
)

describe("the schema of a file:", () => {
  for (const [name, trial] of Object.entries(SchemaTrial.cases(SqlDialect.sqlite))) {
    it.effect(name, () => Effect.provideServiceEffect(trial, SqlClient.SqlClient, client))
  }
})
