/**
 * An operator's payments on TRON from its own account: ordinary payments of `exact`, signed by its key. The chain includes one transaction
 * once and may include two, so the next one is signed only when a solidified block is past the expiration of the last one. One of several
 * nodes behind a URL may lag and show no receipt of a payment that was made: an end counts only when it was shown as of two solidified blocks.
 */
import {
  ChainUnavailable,
  Misconfigured,
  type Payment,
  type Payouts,
  type PayoutOrder,
  type PayoutSigning,
  type PayoutState,
  type Push
} from "@pontage/core"
import * as OptionCheck from "@pontage/core/OptionCheck"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import * as TronObservation from "../evidence/TronObservation.ts"
import * as TronTransferEvidence from "../evidence/TronTransferEvidence.ts"
import * as TronChainCheck from "../node/TronChainCheck.ts"
import * as TronRpc from "../node/TronRpc.ts"
import * as ExactTron from "../payment/ExactTron.ts"
import { read, type SignedTransfer } from "../payment/ExactTronReading.ts"
import * as TronAddress from "../primitives/TronAddress.ts"
import * as TronNetwork from "../primitives/TronNetwork.ts"
import * as TronAsset from "../transfer/TronAsset.ts"
import * as TronBalance from "../transfer/TronBalance.ts"
import type * as TronSigner from "../wallet/TronSigner.ts"
import { connect, type ExactTronChain } from "./ExactTronChain.ts"
import { client } from "./ExactTronClient.ts"
import * as ExactTronVerification from "./ExactTronVerification.ts"

/** Options of the payments. */
export interface Options {
  /** The account that pays: it needs the tokens, and TRX or energy for the fees. */
  readonly signer: TronSigner.TronSigner
  /** URL of a full node, the part before `/wallet`. */
  readonly rpcUrl: string
  /** Headers of every request to the node, for a provider's key. */
  readonly rpcHeaders?: Readonly<Record<string, string>>
  /** Default `tron:mainnet`. */
  readonly network?: string
  /** Tokens beside the known ones. */
  readonly assets?: ReadonlyArray<TronAsset.CustomAsset>
}

const check = OptionCheck.options<Options>({
  signer: OptionCheck.having("a signer, such as localSigner(key)", "address", "signTransaction"),
  rpcUrl: OptionCheck.nodeUrl("https://api.trongrid.io"),
  rpcHeaders: OptionCheck.optional(OptionCheck.record(OptionCheck.text)),
  network: OptionCheck.optional(OptionCheck.text),
  assets: OptionCheck.optional(TronAsset.check)
})

/** Seconds for which a payment can be included: its reference block is accepted for an hour. */
const validSeconds = 1_200

/** Makes the payments. The node is asked when it is needed. Throws `Misconfigured` for an invalid network, asset or signer. */
export const payouts = (options: Options): Payouts => {
  const {
    assets,
    network: text = TronNetwork.mainnet,
    ...node
  } = Result.getOrThrow(OptionCheck.read(check, options, "exactTron.payouts"))
  const table = Result.getOrThrow(TronAsset.table(assets ?? []))
  const network = TronNetwork.fromText(text)
  const owner = TronAddress.fromText(options.signer.address)
  if (network === undefined) throw wrong(`network "${text}" is not a TRON network such as tron:mainnet`)
  if (owner === undefined) throw wrong(`the signer's address "${options.signer.address}" is not a TRON address`)
  const { rpcHeaders, rpcUrl } = node
  const connection = { rpcUrl, network, ...(rpcHeaders && { rpcHeaders }), ...(assets && { assets }) }
  const payer = client({ ...connection, signer: options.signer })
  const nearby = TronRpc.make({ url: rpcUrl, network, ...(rpcHeaders && { headers: rpcHeaders }) })
  let known: ExactTronChain | undefined
  const chain = Effect.suspend(() =>
    known === undefined
      ? Effect.scoped(connect(connection)).pipe(
          Effect.tap((made) => Effect.sync(() => (known = made))),
          Effect.catchTag("Misconfigured", ({ message }) => Effect.fail(new ChainUnavailable({ network, message })))
        )
      : Effect.succeed(known)
  )
  return {
    scheme: ExactTron.scheme,
    network,
    account: TronAddress.toBase58(owner),
    asset: (name) => table.find(network, name),
    prove: Effect.fnUntraced(function* (asset) {
      const rpc = yield* nearby
      yield* TronChainCheck.network(rpc, network)
      yield* TronChainCheck.asset(rpc, asset)
    }),
    balance: Effect.fnUntraced(function* (asset) {
      const { rpc } = yield* chain
      return yield* TronBalance.read(rpc, asset, TronChainCheck.contractOf(asset), owner)
    }),
    sign: (order) => Effect.flatMap(chain, (one) => sign(one, payer, order)),
    observe: (push) => Effect.flatMap(chain, (one) => observe(one, push))
  }
}

const wrong = (reason: string) => new Misconfigured({ message: `exactTron.payouts: ${reason}` })

const sign = Effect.fnUntraced(function* (
  chain: ExactTronChain,
  payer: ReturnType<typeof client>,
  { amount, asset, recipient }: PayoutOrder
): Effect.fn.Return<PayoutSigning, ChainUnavailable> {
  const requirements = {
    scheme: ExactTron.scheme.name,
    network: chain.network,
    maxAmountRequired: `${amount}`,
    resource: "urn:pontage:delivery",
    payTo: recipient,
    asset: asset.address,
    extra: asset.extra
  }
  const { time } = yield* chain.rpc.head
  const validBefore = Number(time / 1000n) + validSeconds
  const signing = payer.sign({ requirements, asset, validAfter: 0, validBefore, binding: undefined })
  const signed = yield* Effect.result(signing)
  if (Result.isFailure(signed)) return { _tag: "Refused", reason: signed.failure.message }
  const push: Push = { requirements, payload: signed.success.payload, once: true }
  const { payload } = yield* readBack(chain, push)
  const verified = yield* Effect.result(ExactTronVerification.verify(chain, payload, ""))
  if (Result.isSuccess(verified)) return { _tag: "Signed", push }
  const { failure } = verified
  return failure._tag === "ChainUnavailable" ? yield* failure : { _tag: "Refused", reason: failure.message }
})

/** A push as `exact` reads it; the token of one on record may have left the table since. */
const readBack = ({ assets, network }: ExactTronChain, { payload, requirements }: Push) =>
  Effect.mapError(
    read(network, (place, text) => assets.find(place, text) ?? TronAsset.retired(place, text), requirements, payload),
    ({ message }) => new ChainUnavailable({ network, message: `a payment of the inventory cannot be read: ${message}` })
  )

const soughtIn = ({ payload }: Payment<SignedTransfer>): TronObservation.SoughtPayment => ({
  signed: payload,
  isOwn: () => true
})

/** The solidified view decides: a transfer counts as soon as a block has it, and never any more once that view is past its expiration. */
const observe = Effect.fnUntraced(function* (
  chain: ExactTronChain,
  push: Push
): Effect.fn.Return<PayoutState, ChainUnavailable> {
  const payment = yield* readBack(chain, push)
  const { id, transfer } = payment.payload
  const solid = yield* chain.rpc.receipt(id, "solidified")
  const seen = yield* TronObservation.concludeOnce(chain, soughtIn(payment))
  // No later response takes back a transfer that a solidified block has.
  const isPaid = solid?.result === "SUCCESS" && TronTransferEvidence.isProven(transfer, solid.logs)
  if (seen._tag === "Unused" && !isPaid) {
    const isUnsent = solid === undefined
    const isOver = chain.ends.confirm(id, isUnsent ? "unsent" : "failed", seen.at.number)
    return isOver ? { _tag: "Over", isUnsent } : { _tag: "Open" }
  }
  chain.ends.forget(id)
  if (seen._tag !== "Settled") return { _tag: "Open" }
  const { block, transaction } = seen
  return {
    _tag: "Delivered",
    transaction,
    block,
    amount: payment.authorization.amount,
    final: solid?.block === block.number
  }
})
