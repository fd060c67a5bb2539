/** Brings the tables of a file up to date. */
import { Misconfigured } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as SqlClient from "effect/sql/SqlClient"
import { isSqlError, type SqlError } from "effect/sql/SqlError"

import * as SqlDialect from "../database/SqlDialect.ts"
import * as SchemaUpgrade from "../schema/SchemaUpgrade.ts"
import * as SqliteFile from "./SqliteFile.ts"

/** Runs the missing migrations; `Misconfigured` names the reason if the file cannot be used. */
export const upgrade = (file: SqliteFile.SqliteFile, filename: string): Effect.Effect<void, Misconfigured> =>
  Effect.mapError(
    Effect.provideServiceEffect(
      SchemaUpgrade.upgrade(SqlDialect.sqlite),
      SqlClient.SqlClient,
      SqliteFile.toClient(file)
    ),
    (error) => misfit(filename, error)
  )

const misfit = (filename: string, error: Misconfigured | SqlError): Misconfigured =>
  new Misconfigured({
    message: isSqlError(error)
      ? `the tables of the payment records' file ${filename} cannot be brought up to date: ${error.message}`
      : `${filename}: ${error.message}`
  })
