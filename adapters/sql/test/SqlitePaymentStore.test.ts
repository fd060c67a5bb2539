import { describe, it } from "@effect/vitest"
import { PaymentStoreLaws } from "@pontage/core/testing"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

import { SqlitePaymentStore } from "../src/sqlite.ts"
import * as DatabaseFile from "./DatabaseFile.ts"
import * as LawSubject from "./LawSubject.ts"

const layer = Layer.unwrap(Effect.map(DatabaseFile.filename, (filename) => SqlitePaymentStore.layer({ filename })))
const trial = Layer.mergeAll(layer, LawSubject.counting())

describe("the laws of a payment store, in a file", () => {
  for (const { effect, name } of PaymentStoreLaws.all) {
    it.effect(name, () => Effect.provide(effect, trial))
  }

  it.effect("hold one after another in one file", () =>
    Effect.provide(
      Effect.forEach(PaymentStoreLaws.all, ({ effect }) => effect),
      trial
    )
  )
})
