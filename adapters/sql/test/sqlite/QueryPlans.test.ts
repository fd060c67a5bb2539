import { DatabaseSync } from "node:sqlite"

import { assert, describe, it } from "@effect/vitest"
import { ChannelStoreLaws, PaymentStoreLaws } from "@pontage/core/testing"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

import { SqliteChannelStore, SqlitePaymentStore } from "../../src/sqlite.ts"
import * as DatabaseFile from "../DatabaseFile.ts"
import * as LawSubject from "../LawSubject.ts"

/** Steps whose work grows with all payments that a lane, or the file, has ever had. */
const growing = [
  /^SCAN \w+(?: USING INDEX (?:payment_lane_number|payment_caller|sqlite_autoindex_\w+))?$/,
  /payment_lane_number \(lane=\?\)$/,
  /sqlite_autoindex_(attempt|lane_transaction)_1 \(lane=\?\)$/
]

/** A start reads the tables' shape, and forgetting walks the file in steps of bounded size. */
const isBounded = (text: string) => text.includes("sqlite_schema") || text.includes("LIMIT")

const plansOf = (filename: string, texts: ReadonlySet<string>) => {
  const database = new DatabaseSync(filename)
  try {
    return [...texts].map((text) => {
      const statement = database.prepare(`EXPLAIN QUERY PLAN ${text}`)
      const unbound = Array.from({ length: text.split("?").length - 1 }, () => null)
      return { text, steps: statement.all(...unbound).map(({ detail }) => String(detail)) }
    })
  } finally {
    database.close()
  }
}

describe("the queries of the payment store in a file", () => {
  it.effect("read what is open, and not everything that a lane has settled", () =>
    Effect.gen(function* () {
      const filename = yield* DatabaseFile.filename
      const texts = new Set<string>()
      const onStatement = (text: string) => {
        if (/^\s*SELECT/.test(text) && !isBounded(text)) texts.add(text)
      }
      const trial = Layer.mergeAll(SqlitePaymentStore.layer({ filename, onStatement }), LawSubject.counting())
      yield* Effect.provide(
        Effect.forEach(PaymentStoreLaws.all, ({ effect }) => effect),
        trial
      )
      const plans = plansOf(filename, texts)
      assert.isAbove(plans.filter(({ text }) => text.includes("lane_transaction")).length, 5)
      const found = plans.filter(({ steps }) => steps.some((step) => growing.some((one) => one.test(step))))
      assert.deepStrictEqual(found, [])
    })
  )
})

/** Steps whose work grows with all channels, or with all draws that a channel has had. */
const growingDraws = [
  /^SCAN (?!\w+ USING INDEX channel_draw_ended)/,
  /sqlite_autoindex_channel_draw_\d \(channel_id=\?\)$/
]

describe("the queries of the channel store in a file", () => {
  it.effect("read one channel and what is open in it, and not its ended draws", () =>
    Effect.gen(function* () {
      const filename = yield* DatabaseFile.filename
      const texts = new Set<string>()
      const onStatement = (text: string) => {
        if (/^\s*(?:SELECT|UPDATE|DELETE)/.test(text) && !text.includes("sqlite_schema")) texts.add(text)
      }
      yield* Effect.provide(
        Effect.forEach(ChannelStoreLaws.all, ({ effect }) => effect),
        SqliteChannelStore.layer({ filename, onStatement })
      )
      const plans = plansOf(filename, texts)
      assert.isAbove(plans.filter(({ text }) => text.includes("channel_draw")).length, 3)
      assert.isAbove(plans.filter(({ text }) => text.includes("payment_channel")).length, 2)
      const found = plans.filter(({ steps }) => steps.some((step) => growingDraws.some((one) => one.test(step))))
      assert.deepStrictEqual(found, [])
    })
  )
})
