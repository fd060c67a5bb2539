/** A facilitator over two ledgers in memory with a bridge between them, and payments that cross it. */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"

import { Checkpoint, type Strike } from "../../../src/facilitator/Checkpoint.ts"
import type { PaymentRequest } from "../../../src/facilitator/Facilitator.ts"
import type { SpendLimits } from "../../../src/facilitator/lane/SpendLimits.ts"
import * as MemoryPaymentStore from "../../../src/facilitator/store/MemoryPaymentStore.ts"
import type { PaymentStore } from "../../../src/facilitator/store/PaymentStore.ts"
import * as Binding from "../../../src/protocol/Binding.ts"
import { openPayload, sealPayload } from "../../../src/protocol/PaymentPayload.ts"
import type { SchemeFacilitator } from "../../../src/scheme/SchemeFacilitator.ts"
import * as LedgerFacilitator from "../../../src/testing/ledger/LedgerFacilitator.ts"
import { farNetwork, type Payload } from "../../../src/testing/ledger/LedgerScheme.ts"
import * as TestBridge from "../../../src/testing/ledger/TestBridge.ts"
import * as TestLedger from "../../../src/testing/ledger/TestLedger.ts"
import * as TestScheme from "../../../src/testing/ledger/TestScheme.ts"
import * as LedgerShop from "../LedgerShop.ts"

/** The account on the near ledger whose money goes on to the shop's account on the far one. */
export const route = "acct-to-shop"

export interface Options {
  readonly settleTimeoutMillis?: number
  /** The ceilings of what settling may cost. */
  readonly gasCeilings?: SpendLimits
  /** Changes of the store. */
  readonly store?: (store: PaymentStore["Service"]) => PaymentStore["Service"]
  /** Changes of the bridge. */
  readonly onward?: (
    onward: TestBridge.TestBridge["onward"],
    far: TestLedger.TestLedger
  ) => TestBridge.TestBridge["onward"]
  /** Whether the facilitator settles on the far ledger too; default `true`. `orders`: as any order, not as a message of the bridge. */
  readonly pushes?: boolean | "orders"
  /** The action at each checkpoint of the first process. */
  readonly strike?: Strike
}

/** A new facilitator; the clock stands at `LedgerShop.start`. */
export const open = Effect.fnUntraced(function* (options: Options = {}) {
  yield* TestClock.setTime(LedgerShop.start)
  const near = TestLedger.make()
  const far = TestLedger.make()
  near.deposit(LedgerShop.payer, 10n ** 9n)
  const bridge = TestBridge.make(near, far)
  const memory = yield* MemoryPaymentStore.make
  const store = options.store?.(memory) ?? memory
  const settlesFar = (lanes: ReadonlyArray<string>) =>
    options.pushes === "orders"
      ? LedgerFacilitator.make(far, { network: farNetwork, lanes })
      : bridge.farFacilitator(lanes)
  const schemes: ReadonlyArray<SchemeFacilitator> = [
    TestScheme.facilitator(near, { onward: options.onward?.(bridge.onward, far) ?? bridge.onward }),
    ...(options.pushes === false ? [] : [settlesFar(["signer-far"])])
  ]
  const { gasCeilings, settleTimeoutMillis } = options
  const owner = yield* Effect.scope
  let life = yield* Scope.make()
  const live = Effect.fnUntraced(function* (strike: Strike = () => Effect.void) {
    yield* Scope.close(life, Exit.void)
    life = yield* Scope.make()
    yield* Scope.addFinalizer(owner, Scope.close(life, Exit.void))
    const opening = LedgerShop.facilitatorOf(schemes, store, {
      ...(gasCeilings !== undefined && { gasCeilings }),
      ...(settleTimeoutMillis !== undefined && { settleTimeoutMillis })
    })
    return yield* Effect.provideService(Scope.provide(opening, life), Checkpoint, strike)
  })
  return {
    near,
    far,
    bridge,
    store,
    facilitator: yield* live(options.strike),
    /** The process ends during its work, and another starts with its records. */
    restart: live()
  }
})

export type Shop = Effect.Success<ReturnType<typeof open>>

/** A signed payment that crosses the bridge. */
export const pay = Effect.fnUntraced(function* (bound = true, payTo = route) {
  const requirements = { ...LedgerShop.requirements, payTo }
  const now = LedgerShop.start / 1000
  const { payload } = yield* TestScheme.client(LedgerShop.payer).sign({
    requirements,
    asset: TestScheme.asset,
    validAfter: 0,
    validBefore: now + 60,
    binding: bound ? yield* Binding.make("challenge-of-the-shop") : undefined
  })
  const request: PaymentRequest = {
    paymentPayload: sealPayload("exact", TestScheme.network, payload),
    paymentRequirements: requirements
  }
  return request
})

/** The order of a payment on the near ledger. */
export const orderOf = (request: PaymentRequest) =>
  Effect.map(Effect.fromResult(openPayload(request.paymentPayload)), (payload): TestLedger.LedgerOrder => {
    const { amount, ...order } = payload as typeof Payload.Encoded
    return { ...order, amount: BigInt(amount) }
  })

/** The transfers to the shop on the far ledger. */
export const arrivals = ({ far }: Pick<Shop, "far">) => far.transfers.filter(({ payTo }) => payTo === LedgerShop.payee)

/** The delivery of a payment, as the API shows it. */
export const deliveryOf = ({ facilitator }: Pick<Shop, "facilitator">, paymentId: string) =>
  Effect.map(facilitator.payment(paymentId), (record) => record?.delivery)
