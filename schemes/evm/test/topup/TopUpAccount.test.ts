/** The account of top-ups, which has to be the one that a client pays from. */
import { assert, describe, it } from "@effect/vitest"
import { ClientSchemeRegistry, PaymentClient, PaymentJournal, type SchemeClient } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

import { channelEvm, exactEvm, topUpEvm } from "../../src/index.ts"

const own = exactEvm.localSigner(`0x${"1".repeat(64)}`)
const other = exactEvm.localSigner(`0x${"2".repeat(64)}`)
const nodes = { arbitrum: "http://127.0.0.1:9", polygon: "http://127.0.0.1:9" }
const topUp = topUpEvm.topUps({ signer: own, facilitator: "http://127.0.0.1:9", nodes })

/** A client of these schemes that tops up the account of `own`. */
const made = (...schemes: ReadonlyArray<SchemeClient>) =>
  PaymentClient.layer({ topUp }).pipe(
    Layer.provide([ClientSchemeRegistry.layer(schemes), PaymentJournal.layerMemory]),
    Layer.build,
    Effect.scoped
  )

describe("a client with top-ups", () => {
  it.effect("is refused where it pays from another account on a network that they reach", () =>
    Effect.gen(function* () {
      for (const network of ["eip155:*", "polygon", "arbitrum"]) {
        const error = yield* Effect.flip(made(exactEvm.client({ signer: other, network })))
        assert.strictEqual(error._tag, "Misconfigured")
        assert.include(error.message, own.address)
        assert.include(error.message, other.address)
        assert.include(error.message, "the same signer")
      }
      const mixed = made(
        exactEvm.client({ signer: own, network: "eip155:*" }),
        exactEvm.client({ signer: other, network: "polygon" })
      )
      assert.strictEqual((yield* Effect.flip(mixed))._tag, "Misconfigured")
    })
  )

  it.effect("is made where it pays from the same account, written in any case, and from others elsewhere", () =>
    Effect.gen(function* () {
      const lower = { ...own, address: own.address.toLowerCase() }
      yield* made(exactEvm.client({ signer: lower, network: "eip155:*" }))
      yield* made(
        exactEvm.client({ signer: own, network: "polygon" }),
        exactEvm.client({ signer: other, network: "base" })
      )
      const rpcUrl = "http://127.0.0.1:9"
      yield* made(
        exactEvm.client({ signer: own, network: "polygon" }),
        channelEvm.client({ signer: other, network: "polygon", rpcUrl })
      )
    })
  )
})
