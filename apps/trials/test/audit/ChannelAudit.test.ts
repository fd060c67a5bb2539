import { assert, describe, it } from "@effect/vitest"

import * as ChannelAudit from "../../src/audit/ChannelAudit.ts"
import * as ChannelWitness from "../../src/channels/ChannelWitness.ts"

const look: ChannelAudit.ChannelLook = {
  channelId: "0x01",
  at: 1,
  claimed: 2n,
  books: { charged: 5n, reserved: 1n, used: 5n, signed: 6n },
  balance: 8n,
  signedByPayer: 7n
}

const end: ChannelAudit.ChannelEnd = {
  ...look,
  at: 2,
  claimed: 5n,
  payer: "0x02",
  spent: 8n,
  served: 4n,
  lost: 1n,
  mercy: 0n
}

const good: ChannelAudit.ChannelTestimony = { looks: [look], ends: [end], paidOut: 5n }

const withLook = (changed: Partial<ChannelAudit.ChannelLook>) => ({ ...good, looks: [{ ...look, ...changed }] })
const withEnd = (changed: Partial<ChannelAudit.ChannelEnd>) => ({ ...good, ends: [{ ...end, ...changed }] })

/** The testimony with one difference planted, and the check that names it. */
const planted: Readonly<Record<ChannelAudit.ChannelCheck, ChannelAudit.ChannelTestimony>> = {
  "claimed-above-charged": withLook({ claimed: 6n }),
  "charged-above-signed": withLook({ books: { ...look.books, used: 4n } }),
  "signed-above-vouchers": withLook({ signedByPayer: 5n }),
  "signed-above-balance": withLook({ balance: 5n }),
  unclaimed: { ...withEnd({ claimed: 4n, spent: 9n }), paidOut: 4n },
  "loss-differs": withEnd({ spent: 9n }),
  "served-uncharged": withEnd({ served: 6n }),
  "charged-unserved": withEnd({ lost: 0n }),
  "charge-forgotten": withLook({ books: { ...look.books, charged: 6n, reserved: 0n, used: 6n } }),
  "not-paid-out": { ...good, paidOut: 4n }
}

describe("the audit of channels", () => {
  it("finds nothing where all agree", () => assert.deepStrictEqual(ChannelAudit.findings(good), []))

  for (const check of ChannelAudit.channelChecks) {
    it(`finds ${check}, and nothing else`, () => {
      const testimony = Object.entries(planted).find(([name]) => name === check)?.[1]
      if (testimony === undefined) return assert.fail("no difference is planted for it")
      assert.deepStrictEqual(
        ChannelAudit.findings(testimony).map((one) => one.check),
        [check]
      )
      return undefined
    })
  }

  it("counts money that its payer has withdrawn as covering the vouchers of before", () =>
    assert.deepStrictEqual(ChannelAudit.findings(withLook({ balance: 5n, withdrawn: 1n })), []))

  it("counts a charge that another reservation covers no more", () => {
    const found = ChannelAudit.findings(withLook({ books: { ...look.books, reserved: 2n } }))
    assert.deepStrictEqual(
      found.map((one) => one.check),
      ["charged-above-signed"]
    )
  })
})

const call = (began: number, ended: number) => ({ goods: "plain", end: "served", began, ended, detail: "" }) as const
const seen = (at: number, charged: bigint) => ({ ...look, at, books: { ...look.books, charged } })

const buyer = (...calls: ReadonlyArray<ReturnType<typeof call>>) => ({
  kind: "ours" as const,
  payer: "0x03" as const,
  privateKey: "0x04" as const,
  together: 3,
  calls,
  signed: () => undefined,
  buy: () => assert.fail("buys nothing")
})
describe("the mercy for deaths", () => {
  it("is for calls since the last look that had all charges", () => {
    const calls = [call(1, 2), call(3, 4), call(5, 6)]
    const history = { looks: [seen(4.5, 2_000n)], deaths: [7] }
    assert.strictEqual(ChannelWitness.mercyOf(buyer(...calls), history), 1_000n)
    assert.strictEqual(ChannelWitness.mercyOf(buyer(...calls), { ...history, deaths: [] }), 0n)
  })

  it("is not for calls that began after the death", () => {
    assert.strictEqual(ChannelWitness.mercyOf(buyer(call(8, 9)), { looks: [], deaths: [7] }), 0n)
  })

  it("is for no more calls than are under way at once", () => {
    const calls = Array.from({ length: 20 }, (_, at) => call(at, at + 0.5))
    assert.strictEqual(ChannelWitness.mercyOf(buyer(...calls), { looks: [], deaths: [30] }), 6_000n)
    // A look that lacks charges has not accounted for the calls before it.
    assert.strictEqual(ChannelWitness.mercyOf(buyer(...calls), { looks: [seen(25, 19_000n)], deaths: [30] }), 6_000n)
    assert.strictEqual(ChannelWitness.mercyOf(buyer(...calls), { looks: [seen(25, 20_000n)], deaths: [30] }), 0n)
  })
})
