/** The sponsor on a scripted chain of two accounts: loans that do not arrive, or cannot be taken back. */
import { assert, describe, it } from "@effect/vitest"
import { ChainUnavailable } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"

import type * as TronBlocks from "../../src/node/TronBlocks.ts"
import type * as TronRpc from "../../src/node/TronRpc.ts"
import * as EnergySponsor from "../../src/sending/EnergySponsor.ts"
import * as TronTransaction from "../../src/transfer/TronTransaction.ts"
import { localSigner } from "../../src/wallet/LocalTronSigner.ts"
import { transfer } from "../TronTransfers.ts"

/** A payment that differs from the others in its timestamp. */
const paymentAt = (later: bigint) => {
  const unsigned = TronTransaction.unsignedTransfer({ ...transfer, timestamp: transfer.timestamp + later })
  return { id: unsigned.txID, bytes: TronTransaction.signed(unsigned.raw_data_hex, `${"12".repeat(64)}1b`) }
}
const { bytes, id: payment } = paymentAt(0n)
const further = [paymentAt(1n), paymentAt(2n)]
const isPayment = (id: string) => id === payment || further.some((one) => one.id === id)
const signer = localSigner("2".padStart(64, "0"))
const block: TronBlocks.Block = {
  number: 9n,
  id: `${"9".padStart(16, "0")}${"ab".repeat(24)}`,
  time: 1_795_244_340_000n
}

/** A broadcast that the node takes, and whose response is lost. */
const lost = "lost"

/** The chain's state and its history. */
const makeWorld = () => {
  const world = {
    energy: 0n,
    /** Energy that the payer's account has used. */
    used: 0n,
    /** Energy that a loan gives. */
    brings: 70_000n,
    loan: 0n,
    refusesReturns: 0,
    /** Result of the payment in its block. */
    result: "SUCCESS",
    /** Whether the payment is in a block. */
    paid: false,
    /** Requests for the payment's receipt that reach a node which is behind. */
    late: 0,
    /** Whether loans stay pending for ever. */
    hidesLoans: false,
    /** Whether a submitted payment is included. */
    includes: true,
    /** Whether the payment waits for a block. */
    pooled: false,
    /** The faults of the next broadcasts of the payment: a rejection by its code, or a lost response to bytes that were taken. */
    faults: new Array<string>(),
    /** Readings of the payer's account after which it has energy of its own. */
    stakesAfter: Infinity,
    head: block.time,
    sent: new Array<string>()
  }
  const down = Effect.fail(new ChainUnavailable({ network: "tron:local", message: "not in this test" }))
  const included = new Set<string>()
  const take = (id: string, signedHex: string): TronRpc.Broadcast => {
    if (isPayment(id)) {
      if (world.pooled || world.paid) return { code: "DUP_TRANSACTION_ERROR", message: "" }
      world.sent.push("payment")
      world.paid = world.includes
      world.pooled = !world.includes
      return { code: "SUCCESS", message: "" }
    }
    const isReturn = signedHex.includes(Buffer.from("UnDelegateResourceContract").toString("hex"))
    if (isReturn && world.refusesReturns-- > 0) return { code: "SERVER_BUSY", message: "" }
    world.sent.push(isReturn ? "take back" : "lend")
    world.energy = isReturn ? 0n : world.brings
    world.loan = isReturn ? 0n : 6_000_000_000n
    included.add(id)
    return { code: "SUCCESS", message: "" }
  }
  const broadcast: TronRpc.TronRpc["broadcast"] = (id, signedHex) =>
    Effect.suspend(() => {
      const fault = isPayment(id) ? world.faults.shift() : undefined
      if (fault !== undefined && fault !== lost) return Effect.succeed({ code: fault, message: "" })
      const response = take(id, signedHex)
      return fault === lost ? down : Effect.succeed(response)
    })
  const rpc: TronRpc.TronRpc = {
    network: "tron:local",
    block: () => down,
    head: Effect.sync(() => ({ ...block, time: world.head })),
    solid: Effect.succeed(block),
    account: () => Effect.succeed({ balance: 0n, ownsItself: true }),
    resources: () =>
      Effect.sync(() => ({
        energy: --world.stakesAfter < 0 ? 70_000n : world.energy,
        energyUsed: world.used,
        freeBandwidth: 600n,
        stakedBandwidth: 0n,
        totalEnergyLimit: 180_000_000_000n,
        totalEnergyWeight: 16_560_000_000n
      })),
    isKnown: (id) => Effect.sync(() => (isPayment(id) ? world.paid : included.has(id))),
    isIncluded: (id) => Effect.sync(() => (isPayment(id) ? world.paid : included.has(id) && !world.hidesLoans)),
    receipt: () =>
      Effect.sync(() =>
        world.paid && --world.late < 0 ? { block: 9n, result: world.result, message: "", logs: [] } : undefined
      ),
    call: () => Effect.succeed({ _tag: "Returned", data: "", energy: 64_285n, logs: [] }),
    prices: Effect.succeed({ energy: 100n, bandwidth: 1_000n }),
    broadcast,
    lendable: () => Effect.succeed(1_000_000_000_000n),
    delegated: () => Effect.sync(() => world.loan),
    receivers: () => Effect.sync(() => (world.loan > 0n ? [transfer.owner] : []))
  }
  return { world, rpc }
}

/** Whether the sponsor would lend the payer energy again. */
const wouldLend = (sponsor: EnergySponsor.EnergySponsor) =>
  sponsor.covers(
    { payer: transfer.owner, caller: "", energy: 60_000n },
    { energy: 0n, energyUsed: 0n, freeBandwidth: 0n, stakedBandwidth: 0n, totalEnergyLimit: 1n, totalEnergyWeight: 1n }
  )

const lending = Effect.fnUntraced(function* (change: (world: ReturnType<typeof makeWorld>["world"]) => void) {
  const { rpc, world } = makeWorld()
  change(world)
  const sponsor = yield* EnergySponsor.make(rpc, rpc.prices, { signer })
  assert.strictEqual((yield* sponsor.submit(payment, bytes))._tag, "Accepted")
  return { sponsor, world }
})

describe("EnergySponsor", () => {
  it.effect("lends, submits and takes back, in this order", () =>
    Effect.gen(function* () {
      const { world } = yield* lending(() => undefined)
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(world.sent, ["lend", "payment", "take back"])
    })
  )

  it.effect("does not submit a payment whose energy does not arrive, and takes the loan back", () =>
    Effect.gen(function* () {
      const { world } = yield* lending((world) => void (world.brings = 64_284n))
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(world.sent, ["lend"])
      yield* TestClock.adjust("20 seconds")
      assert.deepStrictEqual(world.sent, ["lend", "take back"])
    })
  )

  it.effect("does not submit a payment whose loan is in no block", () =>
    Effect.gen(function* () {
      const { world } = yield* lending((world) => void (world.hidesLoans = true))
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(world.sent, ["lend"])
      world.hidesLoans = false
      yield* TestClock.adjust("4 minutes")
      assert.deepStrictEqual(world.sent, ["lend", "take back"])
    })
  )

  it.effect("keeps the loan until the payment can no longer enter a block", () =>
    Effect.gen(function* () {
      const { sponsor, world } = yield* lending((world) => void (world.includes = false))
      yield* TestClock.adjust("30 seconds")
      assert.strictEqual((yield* sponsor.submit(payment, bytes))._tag, "Accepted")
      assert.deepStrictEqual(world.sent, ["lend", "payment"])
      world.head = transfer.expiration
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(world.sent, ["lend", "payment", "take back"])
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(world.sent, ["lend", "payment", "take back"])
    })
  )

  it.effect("lends again to a payer that has paid with a loan", () =>
    Effect.gen(function* () {
      const { sponsor, world } = yield* lending((world) => void (world.used = 0n))
      world.used = 64_285n
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(world.sent, ["lend", "payment", "take back"])
      assert.isTrue(yield* wouldLend(sponsor))
    })
  )

  for (const [name, late] of [
    ["comes late", 1],
    ["does not come", Infinity]
  ] as const) {
    it.effect(`bans no payer whose payment is in a block and its receipt ${name}`, () =>
      Effect.gen(function* () {
        const { sponsor, world } = yield* lending((world) => void (world.late = late))
        world.used = 64_285n
        yield* TestClock.adjust("10 seconds")
        assert.deepStrictEqual(world.sent, ["lend", "payment", "take back"])
        assert.isTrue(yield* wouldLend(sponsor))
      })
    )
  }

  for (const [name, change, wait] of [
    ["before its payment was sent", { brings: 0n }, 15],
    ["while its payment waited", { includes: false }, 120],
    ["so that its payment ran out of it", { result: "OUT_OF_ENERGY" }, 5],
    ["and its payment failed", { result: "REVERT" }, 5]
  ] as const) {
    it.effect(`bans a payer that used the energy ${name}`, () =>
      Effect.gen(function* () {
        const { sponsor, world } = yield* lending((world) => Object.assign(world, change))
        world.used = 64_285n
        yield* TestClock.adjust("2 seconds")
        world.head = transfer.expiration
        yield* TestClock.adjust(`${wait} seconds`)
        assert.strictEqual(world.sent.at(-1), "take back")
        assert.isFalse(yield* wouldLend(sponsor))
        yield* TestClock.adjust("23 hours")
        assert.isFalse(yield* wouldLend(sponsor))
        yield* TestClock.adjust("2 hours")
        assert.isTrue(yield* wouldLend(sponsor))
      })
    )
  }

  it.effect("bans no payer for unused energy", () =>
    Effect.gen(function* () {
      const { sponsor, world } = yield* lending((world) => void (world.includes = false))
      yield* TestClock.adjust("5 seconds")
      world.head = transfer.expiration
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(world.sent, ["lend", "payment", "take back"])
      assert.isTrue(yield* wouldLend(sponsor))
    })
  )

  for (const fault of ["SERVER_BUSY", "BLOCK_UNSOLIDIFIED", "OTHER_ERROR"]) {
    it.effect(`submits a payment again that the node rejected with ${fault}`, () =>
      Effect.gen(function* () {
        const { sponsor, world } = yield* lending((world) => void (world.faults = [fault]))
        yield* TestClock.adjust("2 seconds")
        assert.deepStrictEqual(world.sent, ["lend"])
        yield* TestClock.adjust("5 seconds")
        assert.deepStrictEqual(world.sent, ["lend", "payment", "take back"])
        assert.isTrue(yield* wouldLend(sponsor))
      })
    )
  }

  it.effect("submits a payment again that the node has lost", () =>
    Effect.gen(function* () {
      const { world } = yield* lending((world) => void (world.includes = false))
      yield* TestClock.adjust("2 seconds")
      Object.assign(world, { pooled: false, includes: true })
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(world.sent, ["lend", "payment", "payment", "take back"])
    })
  )

  it.effect("leaves the loan to a payment that the node took and whose response was lost", () =>
    Effect.gen(function* () {
      const { world } = yield* lending((world) => Object.assign(world, { faults: [lost], includes: false }))
      yield* TestClock.adjust("30 seconds")
      assert.deepStrictEqual(world.sent, ["lend", "payment"])
      world.paid = true
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(world.sent, ["lend", "payment", "take back"])
    })
  )

  it.effect("submits a payment again that needs no loan any more", () =>
    Effect.gen(function* () {
      const { world } = yield* lending((world) => Object.assign(world, { faults: ["SERVER_BUSY"], stakesAfter: 1 }))
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(world.sent, [])
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(world.sent, ["payment"])
    })
  )

  for (const [name, first, wouldAgain] of [
    ["bans a payer whose payments were taken and never included", "SUCCESS", false],
    ["bans no payer for payments that a busy node never took", "SERVER_BUSY", true]
  ] as const) {
    it.effect(name, () =>
      Effect.gen(function* () {
        const { rpc, world } = makeWorld()
        world.includes = false
        const sponsor = yield* EnergySponsor.make(rpc, rpc.prices, { signer, maxEnergyPerPayer: 1_000_000n })
        for (const one of [{ id: payment, bytes }, ...further]) {
          Object.assign(world, {
            head: block.time,
            faults: [first, ...Array.from({ length: 20 }, () => "SERVER_BUSY")]
          })
          yield* sponsor.submit(one.id, one.bytes)
          yield* TestClock.adjust("20 seconds")
          world.head = transfer.expiration
          yield* TestClock.adjust("2 seconds")
        }
        assert.deepStrictEqual(world.sent, Array.from({ length: 3 }, () => ["lend", "take back"]).flat())
        assert.strictEqual(yield* wouldLend(sponsor), wouldAgain)
      })
    )
  }

  it.effect("retries a loan that it could not take back", () =>
    Effect.gen(function* () {
      const { world } = yield* lending((world) => void (world.refusesReturns = 3))
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(world.sent, ["lend", "payment"])
      yield* TestClock.adjust("4 minutes")
      assert.deepStrictEqual(world.sent, ["lend", "payment", "take back"])
    })
  )

  it.effect("does not take back a loan in use, however long it lasts", () =>
    Effect.gen(function* () {
      const { world } = yield* lending((world) => void (world.includes = false))
      yield* TestClock.adjust("20 minutes")
      assert.deepStrictEqual(world.sent, ["lend", "payment"])
    })
  )

  it.effect("takes the loan back if it closes during it", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { world } = yield* Scope.provide(
        lending((world) => void (world.includes = false)),
        scope
      )
      yield* TestClock.adjust("3 seconds")
      assert.deepStrictEqual(world.sent, ["lend", "payment"])
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(world.sent, ["lend", "payment", "take back"])
    })
  )
})
