/**
 * The gas of a payment, by how many travel in one transaction: to a payee that holds the token already, each of a payer of
 * its own.
 */
import type { Payment, PaymentFailure, SchemeFacilitator, SigningFailed } from "@pontage/core"
import { deployBatchSettler, EvmCrypto, exactEvm } from "@pontage/evm"
import * as BestCrypto from "@pontage/evm/crypto"
import { type Anvil, EvmTestChain } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { isHash } from "viem"

import * as BenchPayment from "../BenchPayment.ts"
import type { Row } from "../Row.ts"

const sizes = [1, 10, 25, 50, 100]
/** The number of payments that are measured; one before them opens the payee's account with the token. */
const payers = sizes.reduce((sum, size) => sum + size, 1)

type Failure = Anvil.AnvilFailed | PaymentFailure | SigningFailed

/** One row for each size, on a chain of their own. */
export const measure: Effect.Effect<ReadonlyArray<Row>, Failure, Scope.Scope> = Effect.gen(function* () {
  const chain = yield* EvmTestChain.make({ payers })
  const settler = yield* deployBatchSettler({ signer: chain.accounts.deployer, rpcUrl: chain.rpcUrl })
  const scheme = yield* exactEvm
    .facilitator({ signer: chain.accounts.signers[0], rpcUrl: chain.rpcUrl, batches: { settler, maximum: 100 } })
    .pipe(Effect.provideService(EvmCrypto.EvmCrypto, yield* BestCrypto.make))
  let index = 0
  const next = Effect.suspend(() =>
    Effect.flatMap(BenchPayment.sign(chain, index++), (request) => read(scheme, request))
  )
  yield* gasOf(chain, scheme, [yield* next])
  return yield* Effect.forEach(
    sizes,
    Effect.fnUntraced(function* (size) {
      const payments = yield* Effect.forEach(Array.from({ length: size }), () => next)
      const gas = yield* gasOf(chain, scheme, payments)
      const note = size >= 25 ? { note: "target at most 49 000" } : {}
      return { name: `gas a payment, ${size} in a transaction`, value: gas / size, unit: "gas", ...note } satisfies Row
    })
  )
})

const read = (scheme: SchemeFacilitator, request: Effect.Success<ReturnType<typeof BenchPayment.sign>>) =>
  scheme.read(
    { ...request.paymentRequirements, network: scheme.network },
    JSON.parse(Buffer.from(request.paymentPayload.payload, "base64").toString())
  )

/** Settles them in one transaction, and returns what it used. */
const gasOf = Effect.fnUntraced(function* (
  { receipt }: EvmTestChain.Shape,
  scheme: SchemeFacilitator,
  payments: ReadonlyArray<Payment>
) {
  yield* Effect.forEach(payments, (payment) => scheme.verify(payment), { concurrency: "unbounded" })
  const [lane = ""] = scheme.lanes
  const slot = { lane, number: yield* scheme.nextSlot(lane, "known") }
  const { count, prepared } = yield* scheme.prepare(payments, slot, yield* scheme.chainHead)
  yield* scheme.submit(prepared)
  if (count !== payments.length || !isHash(prepared.transaction)) {
    return yield* Effect.die(new Error(`${count} of ${payments.length} payments went into the transaction`))
  }
  return Number((yield* receipt(prepared.transaction)).gasUsed)
})
