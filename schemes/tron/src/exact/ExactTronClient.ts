/**
 * The scheme client of `exact` on TRON: builds the transfer that the core has decided on, and has the wallet sign exactly those
 * bytes. It needs no chain library, and a node only for a recent reference block if the offer names none.
 */
import { Misconfigured, type SchemeClient, Shape, SigningFailed, type SigningRequest } from "@pontage/core"
import { Entropy } from "@pontage/core/Entropy"
import * as OptionCheck from "@pontage/core/OptionCheck"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import * as TronBlocks from "../node/TronBlocks.ts"
import * as TronHttp from "../node/TronHttp.ts"
import * as ExactTron from "../payment/ExactTron.ts"
import * as TronAddress from "../primitives/TronAddress.ts"
import * as TronNetwork from "../primitives/TronNetwork.ts"
import * as TronAsset from "../transfer/TronAsset.ts"
import * as TronTransaction from "../transfer/TronTransaction.ts"
import * as TronSigner from "../wallet/TronSigner.ts"

/** Options of the scheme client. */
export interface Options {
  /** `TronSigner.fromTronWeb(...)`, `.fromTip1193(...)`, `localSigner(key)`, or any other signer of the bytes. */
  readonly signer: TronSigner.TronSigner
  /** Default `tron:mainnet`. */
  readonly network?: string
  /** URL of a full node that is asked for a recent block; needed if offers name no block (`extra.refBlock`). */
  readonly rpcUrl?: string
  /** Headers of every request to the node, for a provider's key. */
  readonly rpcHeaders?: Readonly<Record<string, string>>
  /** Tokens to pay with beside the known ones. */
  readonly assets?: ReadonlyArray<TronAsset.CustomAsset>
  /** Most TRX that the chain may take for a payment's energy, in sun; default 100 TRX. An offer that needs more is not signed. */
  readonly maxFeeLimit?: bigint
}

const check = OptionCheck.options<Options>({
  signer: OptionCheck.having("a signer, such as localSigner(key)", "address", "signTransaction"),
  network: OptionCheck.optional(OptionCheck.text),
  rpcUrl: OptionCheck.optional(OptionCheck.nodeUrl("https://api.trongrid.io")),
  rpcHeaders: OptionCheck.optional(OptionCheck.record(OptionCheck.text)),
  assets: OptionCheck.optional(TronAsset.check),
  maxFeeLimit: OptionCheck.optional(OptionCheck.amount())
})

const defaultMaxFeeLimit = 100_000_000n

/** Makes the scheme client. Throws `Misconfigured` if the network, the signer's address, an asset or the RPC URL is invalid. */
export const client = (options: Options): SchemeClient => {
  Result.getOrThrow(OptionCheck.read(check, options, "exactTron.client"))
  const { assets, network = TronNetwork.mainnet, signer } = options
  const table = Result.getOrThrow(TronAsset.table(assets ?? []))
  const chain = TronNetwork.fromText(network)
  const payer = TronAddress.fromText(signer.address)
  if (chain === undefined) throw wrong(`network "${network}" is not a TRON network such as tron:mainnet`)
  if (payer === undefined) throw wrong(`the signer's address "${signer.address}" is not a TRON address`)
  const wallet: Wallet = {
    signer,
    payer,
    maxFeeLimit: options.maxFeeLimit ?? defaultMaxFeeLimit,
    recentBlock: recentBlockBy(chain, options)
  }
  return {
    scheme: ExactTron.scheme,
    network: chain,
    asset: (requirements) => (requirements.asset === undefined ? undefined : table.find(chain, requirements.asset)),
    sign: (request) => sign(wallet, request)
  }
}

const wrong = (reason: string) => new Misconfigured({ message: `exactTron.client: ${reason}` })

/** The two fields by which a transaction refers to a block. */
type Reference = Pick<TronTransaction.Header, "refBlockBytes" | "refBlockHash">

interface Wallet {
  readonly signer: TronSigner.TronSigner
  readonly payer: TronAddress.Address
  readonly maxFeeLimit: bigint
  readonly recentBlock: Effect.Effect<Reference, SigningFailed>
}

const failed = (message: string, cause?: unknown) =>
  new SigningFailed(cause === undefined ? { message } : { message, cause })

/** Requests a solidified block: a reference to a block that is dropped later makes the payment impossible. */
const recentBlockBy = (network: string, { rpcHeaders, rpcUrl }: Options): Wallet["recentBlock"] => {
  if (rpcUrl === undefined) {
    const message = `the offer names no recent block (extra.refBlock): give exactTron.client the rpcUrl of a node of ${network}`
    return Effect.fail(failed(message))
  }
  const node = { url: rpcUrl, network, ...(rpcHeaders && { headers: rpcHeaders }) }
  const { solid } = TronBlocks.make(Effect.runSync(TronHttp.make(node)))
  return Effect.mapBoth(solid, { onSuccess: TronBlocks.referenceTo, onFailure: ({ message }) => failed(message) })
}

/** The fields read from an offer's `extra`. An offer with an invalid hint is not signed. */
interface Hints {
  readonly minFeeLimit?: string
  readonly refBlock?: RefBlock
}

interface RefBlock {
  readonly bytes: string
  readonly hash: string
}

const makeHints = () =>
  Shape.struct<Hints>({
    minFeeLimit: Shape.optional(Shape.matching("an amount of sun", /^[1-9][0-9]{0,15}$/)),
    refBlock: Shape.optional(
      Shape.struct<RefBlock>({
        bytes: Shape.matching("4 hexadecimal digits", /^[0-9a-f]{4}$/),
        hash: Shape.matching("16 hexadecimal digits", /^[0-9a-f]{16}$/)
      })
    )
  })

const hintsShape = /* @__PURE__ */ makeHints()

const sign = Effect.fnUntraced(function* (wallet: Wallet, request: SigningRequest) {
  const transfer = yield* toSign(wallet, request)
  const unsigned = TronTransaction.unsignedTransfer(transfer)
  const signature = yield* Effect.mapError(TronSigner.sign(wallet.signer, unsigned), ({ cause, message }) =>
    failed(message, cause)
  )
  const { raw_data_hex, txID } = unsigned
  const { binding } = request
  const from = TronAddress.toBase58(wallet.payer)
  return {
    payer: from,
    nonce: txID,
    payload: {
      from,
      signedTransaction: { txID, raw_data_hex, signature: [signature] },
      ...(binding && { binding: { ...binding } })
    }
  }
})

const toSign = Effect.fnUntraced(function* (
  wallet: Wallet,
  { asset, binding, requirements, validBefore }: SigningRequest
) {
  const to = TronAddress.fromText(requirements.payTo)
  if (to === undefined || to === wallet.payer) {
    return yield* failed(`the offer's recipient "${requirements.payTo}" is not the TRON address of another account`)
  }
  const token = TronAddress.fromText(asset.address)
  if (token === undefined) return yield* failed(`the asset's address "${asset.address}" is not a TRON address`)
  const hints = Result.getOrUndefined(Shape.read(hintsShape, requirements.extra ?? {}))
  if (hints === undefined) return yield* failed("the offer's extra holds an invalid minFeeLimit or refBlock")
  const feeLimit = BigInt(hints.minFeeLimit ?? TronAsset.defaultFeeLimit)
  if (feeLimit > wallet.maxFeeLimit) {
    const message = `the offer requires a fee limit of ${feeLimit} sun, above maxFeeLimit ${wallet.maxFeeLimit}`
    return yield* failed(message)
  }
  const { refBlock } = hints
  const reference = refBlock
    ? { refBlockBytes: refBlock.bytes, refBlockHash: refBlock.hash }
    : yield* wallet.recentBlock
  const entropy = yield* Entropy
  const transfer: TronTransaction.TokenTransfer = {
    ...reference,
    owner: wallet.payer,
    token,
    to,
    amount: BigInt(requirements.maxAmountRequired),
    feeLimit,
    expiration: BigInt(validBefore) * 1000n,
    timestamp: binding ? yield* ExactTron.boundTimestamp(binding) : ExactTron.timestampFrom(entropy.bytes(6))
  }
  return transfer
})
