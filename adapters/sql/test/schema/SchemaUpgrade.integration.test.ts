import * as PgClient from "@effect/sql-pg/PgClient"
import { layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Reactivity from "effect/reactivity/Reactivity"
import * as SqlClient from "effect/sql/SqlClient"

import * as SqlDialect from "../../src/database/SqlDialect.ts"
import { PostgresServer } from "../../src/testing/index.ts"
import * as PostgresServers from "../PostgresServers.ts"
import * as SchemaTrial from "./SchemaTrial.ts"

const client = Effect.flatMap(PostgresServers.database, (url) =>
  Effect.provide(PgClient.makeClient({ url }), Reactivity.layer)
)

layer(PostgresServer.layer, { timeout: 900_000 })("the schema of a PostgreSQL database:", (it) => {
  for (const [name, trial] of Object.entries(SchemaTrial.cases(SqlDialect.postgres))) {
    it.effect(name, () => Effect.provideServiceEffect(trial, SqlClient.SqlClient, client))
  }
})
