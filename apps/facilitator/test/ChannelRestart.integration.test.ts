/**
 * A facilitator of payment channels that stops in the middle of a job, and its successor on the same records: the job is done once, and
 * the repeated request gets its answer.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { assert, it } from "@effect/vitest"
import {
  Checkpoint,
  Facilitator,
  FacilitatorSchemeRegistry,
  LocalFacilitator,
  type PaymentRequest
} from "@pontage/core"
import { ChannelContract, ChannelEvent, channelEvm } from "@pontage/evm"
import { ChannelContracts, EvmTestChain } from "@pontage/evm/testing"
import { SqlitePaymentStore } from "@pontage/sql/sqlite"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

import * as TestChannel from "./TestChannel.ts"

type Chain = EvmTestChain.Shape

/** The facilitator over a file of records, until the scope ends. */
const started = Effect.fnUntraced(function* (chain: Chain, filename: string, strike: Checkpoint.Strike) {
  const schemes = [channelEvm.facilitator({ signer: chain.accounts.signers[1], rpcUrl: chain.rpcUrl })]
  const local = LocalFacilitator.layer({}).pipe(
    Layer.provide(FacilitatorSchemeRegistry.layer(schemes)),
    Layer.provide(SqlitePaymentStore.layer({ filename })),
    Layer.provide(Layer.succeed(Checkpoint.Checkpoint, strike))
  )
  return Context.get(yield* Layer.build(local), Facilitator)
})

const countOf = (chain: Chain, topic: string) =>
  Effect.promise(async () => {
    const logs = await chain.client.getLogs({ address: ChannelContract.address, fromBlock: 0n })
    return logs.filter(({ topics }) => topics[0] === topic).length
  })

/** Stops the first facilitator at the checkpoint, and asks its successor for the same. */
const interrupted = Effect.fnUntraced(function* (
  chain: Chain,
  filename: string,
  checkpoint: Checkpoint.CheckpointName,
  request: PaymentRequest
) {
  const struck = yield* Deferred.make<void>()
  yield* Effect.scoped(
    Effect.gen(function* () {
      const first = yield* started(chain, filename, (name) =>
        name === checkpoint ? Effect.andThen(Deferred.succeed(struck, undefined), Effect.never) : Effect.void
      )
      yield* Effect.forkScoped(first.settle(request))
      yield* Deferred.await(struck)
    })
  )
  return yield* Effect.scoped(
    Effect.flatMap(
      started(chain, filename, () => Effect.void),
      (second) => second.settle(request)
    )
  )
})

for (const checkpoint of ["planned", "submitted"] as const) {
  it.live(
    `a facilitator that stops at "${checkpoint}" leaves its successor to finish a deposit and a claim, each made once`,
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const folder = mkdtempSync(join(tmpdir(), "channel-restart-"))
          yield* Effect.addFinalizer(() => Effect.sync(() => rmSync(folder, { recursive: true })))
          const filename = join(folder, "records.sqlite")
          const chain = yield* EvmTestChain.make({ payers: 1 })
          yield* ChannelContracts.deploy(chain)
          const channel = yield* TestChannel.make(chain)
          const [deposit, claim] = [
            TestChannel.request(channel, channel.deposit),
            TestChannel.request(channel, channel.claim)
          ]
          assert.strictEqual((yield* interrupted(chain, filename, checkpoint, deposit)).amount, "50000")
          assert.strictEqual(yield* countOf(chain, ChannelEvent.topics.Deposited), 1)
          const claimed = yield* interrupted(chain, filename, checkpoint, claim)
          assert.strictEqual(claimed.status, "included")
          assert.strictEqual(yield* countOf(chain, ChannelEvent.topics.Claimed), 1)
        })
      ),
    120_000
  )
}
