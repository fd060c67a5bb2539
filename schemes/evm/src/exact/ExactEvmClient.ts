/**
 * The scheme client of `exact` on EVM: it signs the authorization that the core has decided on. It needs no chain and no chain
 * library.
 */
import {
  type Asset,
  AsciiJson,
  Misconfigured,
  type PaymentRequirements,
  type SchemeClient,
  SigningFailed,
  type SigningRequest
} from "@pontage/core"
import { Entropy } from "@pontage/core/Entropy"
import * as OptionCheck from "@pontage/core/OptionCheck"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import * as EvmSignature from "../crypto/EvmSignature.ts"
import * as ExactEvm from "../payment/ExactEvm.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import * as EvmNetwork from "../primitives/EvmNetwork.ts"
import * as Eip3009 from "../transfer/Eip3009.ts"
import * as EvmAsset from "../transfer/EvmAsset.ts"
import type { EvmSigner } from "../wallet/EvmSigner.ts"
import type { EvmSmartAccount } from "../wallet/EvmSmartAccount.ts"
import * as OperationSigning from "./OperationSigning.ts"

/** Options of `exactEvm.client`. */
export interface Options {
  /**
   * A viem account, `EvmSigner.fromEip1193(...)`, or anything that signs typed data; `exactEvm.smartAccount(account, options)` signs user
   * operations too.
   */
  readonly signer: EvmSigner
  /** `eip155:<chain id>`, or a name such as `base`; `eip155:*` pays on every network whose tokens this package knows. */
  readonly network: string
  /** Tokens to pay in beside the known ones. */
  readonly assets?: ReadonlyArray<EvmAsset.CustomAsset>
}

/** Options of `exactEvm.client` for a smart account, such as one of viem's: the same as the signer `exactEvm.smartAccount(account)`. */
export interface AccountOptions extends Omit<Options, "signer"> {
  readonly account: EvmSmartAccount
}

type AnyOptions = Omit<Options, "signer"> & Partial<Pick<Options, "signer"> & Pick<AccountOptions, "account">>

const check = OptionCheck.options<AnyOptions>({
  signer: OptionCheck.optional(
    OptionCheck.having(
      "a signer, such as exactEvm.localSigner(privateKey) or a viem account",
      "address",
      "signTypedData"
    )
  ),
  account: OptionCheck.optional(OperationSigning.accountCheck),
  network: OptionCheck.setting('a network such as "eip155:8453" or "base", or "eip155:*" for every EVM network'),
  assets: OptionCheck.optional(EvmAsset.check)
})

/** The text of a client that pays on all networks of the family. */
const everyNetwork = "eip155:*"

/** Makes the scheme client. Throws `Misconfigured` for an invalid network, signer's address or asset. */
export const client: {
  (options: AccountOptions): SchemeClient
  (options: Options): SchemeClient
} = (options: AnyOptions): SchemeClient => {
  const { assets, network, ...given } = Result.getOrThrow(OptionCheck.read(check, options, "exactEvm.client"))
  const signer = signerIn(given)
  const table = Result.getOrThrow(EvmAsset.table(assets ?? []))
  const chain = EvmNetwork.fromText(network)
  const payer = EvmAddress.fromText(signer.address)
  if (chain === undefined && network !== everyNetwork) {
    throw new Misconfigured({ message: `exactEvm.client: network: "${network}" ${EvmNetwork.fault}` })
  }
  if (payer === undefined) {
    throw new Misconfigured({ message: `exactEvm.client: the signer's address "${signer.address}" is not an address` })
  }
  return {
    scheme: ExactEvm.scheme,
    network: chain,
    asset: ({ asset, network: offered }) => {
      const on = EvmNetwork.fromText(offered)
      return asset === undefined || on === undefined || (chain ?? on) !== on ? undefined : table.find(on, asset)
    },
    objection: (requirements, asset) =>
      isByOperation(signer, asset) ? objectionToOperation(signer, requirements) : objection(requirements, asset),
    sign: (request) =>
      signer.operations !== undefined && isByOperation(signer, request.asset)
        ? signer.operations.sign(payer, request)
        : sign(signer, payer, request)
  }
}

const signerIn = ({ account, signer }: Pick<AnyOptions, "account" | "signer">): EvmSigner => {
  if (signer !== undefined && account === undefined) return signer
  if (account !== undefined && signer === undefined) return OperationSigning.smartAccount(account)
  const message =
    "exactEvm.client: give a signer, such as exactEvm.localSigner(privateKey) or a viem account, or an account, such as a viem smart account"
  throw new Misconfigured({ message })
}

/** Whether a payment in the asset is a user operation: a signer that makes none cannot pay in such an asset. */
const isByOperation = ({ operations }: EvmSigner, asset: Asset): boolean =>
  operations?.isOnly === true || !EvmAsset.hasAuthorizations(asset)

const objectionToOperation = (
  { operations }: EvmSigner,
  { extra = {} }: PaymentRequirements.PaymentRequirements
): string | undefined =>
  operations === undefined
    ? "the token has no transfer authorizations (EIP-3009) and is paid in by user operations alone; give exactEvm.client the signer exactEvm.smartAccount(account)"
    : operations.objection(extra)

/**
 * The domain never comes from the server. But a server that names another domain would reject a signature under ours, which
 * could be settled all the same; so could an authorization where the server wants another kind.
 */
const objection: NonNullable<SchemeClient["objection"]> = ({ extra = {} }, asset) => {
  const kind = extra["assetTransferMethod"] ?? authorizations
  if (kind !== authorizations) {
    return `the offer wants ${quoted(kind)}, and this client signs transfer authorizations (EIP-3009) alone`
  }
  const wrong = ["name", "version"].find((part) => typeof extra[part] === "string" && extra[part] !== asset.extra[part])
  if (wrong === undefined) return undefined
  return `the offer says that the ${wrong} of its EIP-712 domain is ${quoted(extra[wrong])}, and this client knows it as ${quoted(asset.extra[wrong])}; if the offer is right, give the token to exactEvm.client as one of its assets`
}

/** Quotes a stranger's text: short, and without characters that a terminal would interpret. */
const quoted = (value: unknown): string => AsciiJson.encode(value).slice(0, 100)

/** The name of this scheme's authorizations in some offers; most leave it out. */
const authorizations = "eip3009"

const sign = Effect.fnUntraced(function* (signer: EvmSigner, from: EvmAddress.Address, request: SigningRequest) {
  const { asset, binding, requirements } = request
  const to = EvmAddress.fromText(requirements.payTo)
  if (to === undefined || to === EvmAddress.zero) {
    return yield* new SigningFailed({
      message: `the offer's recipient "${requirements.payTo}" is not an address that can be paid`
    })
  }
  const entropy = yield* Entropy
  const nonce = yield* binding ? ExactEvm.boundNonce(binding) : Effect.succeed(ExactEvm.nonceFrom(entropy.bytes(24)))
  const authorization: Eip3009.TransferWithAuthorization = {
    from,
    to,
    value: BigInt(requirements.maxAmountRequired),
    validAfter: BigInt(request.validAfter),
    validBefore: BigInt(request.validBefore),
    nonce
  }
  const signature = yield* Effect.tryPromise({
    try: () => signer.signTypedData(Eip3009.typedData(EvmAsset.domain(asset), authorization)),
    catch: (cause) => new SigningFailed({ message: `the wallet of ${signer.address} did not sign`, cause })
  })
  if (!isSignature(signature)) {
    return yield* new SigningFailed({
      message: `the wallet of ${signer.address} returned something that is not a signature`
    })
  }
  return {
    payer: EvmAddress.checksum(from),
    nonce,
    payload: { signature, authorization: onWire(authorization), ...(binding && { binding: { ...binding } }) }
  }
})

/** Only the payer's account defines the form of its signatures; but none is empty, and none is longer than the accepted maximum. */
const isSignature = (text: string): boolean =>
  EvmHex.isHex(text) && text !== "0x" && text.length <= 2 + 2 * EvmSignature.maximumBytes

/** On the wire numbers are decimal strings, and addresses have their checksum. */
const onWire = (authorization: Eip3009.TransferWithAuthorization) => ({
  from: EvmAddress.checksum(authorization.from),
  to: EvmAddress.checksum(authorization.to),
  value: `${authorization.value}`,
  validAfter: `${authorization.validAfter}`,
  validBefore: `${authorization.validBefore}`,
  nonce: authorization.nonce
})
