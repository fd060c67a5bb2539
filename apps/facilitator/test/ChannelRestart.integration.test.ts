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
  PaymentPayload,
  type PaymentRequest
} from "@pontage/core"
import {
  ChannelConfig,
  ChannelContract,
  ChannelDeposit,
  ChannelEvent,
  channelEvm,
  ClaimBatch,
  EvmAddress,
  EvmNetwork,
  Voucher
} from "@pontage/evm"
import { ChannelContracts, EvmTestChain } from "@pontage/evm/testing"
import { SqlitePaymentStore } from "@pontage/sql/sqlite"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

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

const textOf = (address: EvmAddress.Address): string => EvmAddress.checksum(address)

const addressOf = (text: string): EvmAddress.Address => EvmAddress.fromText(text) ?? EvmAddress.zero

/** The requests of one channel: its deposit, and the claim of everything. */
const requestsOf = (chain: Chain) =>
  Effect.promise(async (): Promise<{ readonly deposit: PaymentRequest; readonly claim: PaymentRequest }> => {
    const { accounts, chainId, network, token } = chain
    const [payer] = accounts.payers
    const [shop] = accounts.signers
    const salt = `0x${"0".repeat(63)}1` as const
    const config: ChannelConfig.ChannelConfig = {
      payer: addressOf(payer.address),
      payerAuthorizer: addressOf(payer.address),
      receiver: addressOf(shop.address),
      receiverAuthorizer: addressOf(shop.address),
      token: addressOf(token.address),
      withdrawDelay: 900,
      salt
    }
    const channelId = ChannelConfig.id(chainId, config)
    const ceiling = { channelId, maxClaimableAmount: 50_000n }
    const voucher = { ...ceiling, signature: await payer.signTypedData(Voucher.typedData(chainId, ceiling)) }
    const { timestamp } = await chain.client.getBlock()
    const terms = { salt, validAfter: 0n, validBefore: timestamp + 3_000n }
    const domain = { name: token.name, version: token.version, chainId, verifyingContract: config.token }
    const authorization = ChannelDeposit.authorization(channelId, config.payer, 50_000n, terms)
    const signature = await payer.signTypedData(ChannelDeposit.receiveTypedData(domain, authorization))
    const row = {
      voucher: { channel: config, maxClaimableAmount: 50_000n },
      signature: voucher.signature,
      totalClaimed: 50_000n
    }
    const batch = ClaimBatch.typedData(chainId, [ClaimBatch.entry(chainId, row)])
    const requestOf = (payload: unknown): PaymentRequest => ({
      paymentPayload: PaymentPayload.sealPayload("batch-settlement", network, payload),
      paymentRequirements: {
        scheme: "batch-settlement",
        network: EvmNetwork.fromChainId(chainId),
        maxAmountRequired: "1000",
        resource: "https://shop.example/report",
        payTo: textOf(config.receiver),
        maxTimeoutSeconds: 3_600,
        asset: token.address,
        extra: { receiverAuthorizer: textOf(config.receiverAuthorizer), withdrawDelay: 900 }
      }
    })
    return {
      deposit: requestOf({
        type: "deposit",
        channelConfig: ChannelConfig.onWire(config),
        voucher: Voucher.onWire(voucher),
        deposit: {
          amount: "50000",
          authorization: {
            erc3009Authorization: { validAfter: "0", validBefore: `${terms.validBefore}`, salt, signature }
          }
        }
      }),
      claim: requestOf({
        type: "claim",
        claims: [ClaimBatch.onWire(row)],
        claimAuthorizerSignature: await shop.signTypedData(batch)
      })
    }
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
          const { claim, deposit } = yield* requestsOf(chain)
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
