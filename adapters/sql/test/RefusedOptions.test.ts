import { assert, describe, it } from "@effect/vitest"
import { Misconfigured } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"

import * as PostgresPaymentStore from "../src/PostgresPaymentStore.ts"
import * as SqlitePaymentStore from "../src/SqlitePaymentStore.ts"

const messageOf = <A, E>(layer: Layer.Layer<A, E>) =>
  Effect.match(Effect.scoped(Layer.build(layer)), {
    onSuccess: () => "taken",
    onFailure: (error) => (error instanceof Misconfigured ? error.message : `no Misconfigured: ${String(error)}`)
  })

const url = Redacted.make("postgres://user:password@127.0.0.1:1/nowhere")

describe("a store in PostgreSQL is not opened", () => {
  it.effect.each([
    [{ url, connection: 5 }, /^PostgresPaymentStore: connection: unknown key; did you mean connections\?$/],
    [{ url, ttl: 5 }, /^PostgresPaymentStore: ttl: unknown key; did you mean leases\.ttl\?$/],
    [{ url, leases: { ttl: "soon" } }, /leases\.ttl: expected a duration/],
    [{ url, leases: null }, /leases: expected a plain object, got null$/],
    [{ url, listens: "no" }, /listens: expected true or false, got a text$/],
    [{ url: "postgres://user:password@127.0.0.1/x" }, /url: expected a redacted address, such as .*, got a text$/]
  ] as const)("with %o", ([options, expected]) =>
    Effect.map(messageOf(PostgresPaymentStore.layer(options as never)), (message) => {
      assert.match(message, expected)
      assert.notInclude(message, "password")
    })
  )
})

describe("a store in a file is not opened", () => {
  it.effect.each([
    [{ fileName: "x.sqlite" }, /^SqlitePaymentStore: fileName: unknown key; did you mean filename\?$/],
    [{}, /^SqlitePaymentStore: filename: expected a text, got nothing$/],
    ["x.sqlite", /^SqlitePaymentStore: the options: expected a plain object, got a text$/]
  ] as const)("with %o", ([options, expected]) =>
    Effect.map(messageOf(SqlitePaymentStore.layer(options as never)), (message) => assert.match(message, expected))
  )
})
