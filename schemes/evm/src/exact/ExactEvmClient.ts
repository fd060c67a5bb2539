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
  type SignedPayment,
  SigningFailed,
  type SigningRequest
} from "@pontage/core"
import { Entropy } from "@pontage/core/Entropy"
import * as OptionCheck from "@pontage/core/OptionCheck"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import * as ExactEvm from "../payment/ExactEvm.ts"
import * as InventoryTerms from "../payment/InventoryTerms.ts"
import * as RouteTerms from "../payment/RouteTerms.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmNetwork from "../primitives/EvmNetwork.ts"
import * as Eip3009 from "../transfer/Eip3009.ts"
import * as EvmAsset from "../transfer/EvmAsset.ts"
import * as AllowanceReader from "../wallet/AllowanceReader.ts"
import { type EvmSigner, signatureOf } from "../wallet/EvmSigner.ts"
import type { EvmSmartAccount } from "../wallet/EvmSmartAccount.ts"
import * as OperationSigning from "./OperationSigning.ts"
import * as PermitSigning from "./PermitSigning.ts"
import type * as RouteSigning from "./RouteSigning.ts"

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
  /**
   * A node of the `network`. For payments by Permit2 the client asks it whether the payer has approved Permit2 in the token, and signs
   * the approval too where it has not and the token has approvals by signature (EIP-2612); without a node the client takes Permit2 as
   * approved. For user operations the node has to show the payment guard, which ends them; without it the account's own client does.
   */
  readonly rpcUrl?: string
  /**
   * Pays offers whose money goes on to another network: `exactEvm.routes()`. Without it such an offer is left to the others; it is a
   * part of its own because most payers need none, and it makes a page's bundle larger.
   */
  readonly routes?: RouteSigning.PayerRoutes
}

/** Options of `exactEvm.client` for a smart account, such as one of viem's: the same as the signer `exactEvm.smartAccount(account)`. */
export interface AccountOptions extends Omit<Options, "signer"> {
  readonly account: EvmSmartAccount
}

type AnyOptions = Omit<Options, "signer"> & Partial<Pick<Options, "signer"> & Pick<AccountOptions, "account">>

const signerCheck = OptionCheck.having<EvmSigner>(
  "a signer, such as exactEvm.localSigner(privateKey) or a viem account",
  "address",
  "signTypedData"
)

const checks = {
  network: OptionCheck.setting('a network such as "eip155:8453" or "base", or "eip155:*" for every EVM network'),
  assets: OptionCheck.optional(EvmAsset.check),
  rpcUrl: OptionCheck.optional(OptionCheck.nodeUrl(EvmNetwork.nodeExample)),
  routes: OptionCheck.optional(
    OptionCheck.having<RouteSigning.PayerRoutes>("the routes of a payer, exactEvm.routes()", "objection", "sign")
  )
}

/** The text of a client that pays on all networks of the family. */
const everyNetwork = "eip155:*"

/** Makes the scheme client. Throws `Misconfigured` for an invalid network, signer's address or asset. */
export const client: {
  (options: AccountOptions): SchemeClient
  (options: Options): SchemeClient
} = (options: AnyOptions): SchemeClient => {
  // Made here and not above, so that a bundle of `signerClient` has nothing of smart accounts.
  const check = OptionCheck.options<AnyOptions>({
    ...checks,
    signer: OptionCheck.optional(signerCheck),
    account: OptionCheck.optional(OperationSigning.accountCheck)
  })
  const given = Result.getOrThrow(OptionCheck.read(check, options, "exactEvm.client"))
  return clientOf({ ...given, signer: signerIn(given) })
}

/** The same for a signer alone, without smart accounts: it makes a page's bundle smaller. */
export const signerClient = (options: Options): SchemeClient => {
  const check = OptionCheck.options<Options>({ ...checks, signer: signerCheck })
  return clientOf(Result.getOrThrow(OptionCheck.read(check, options, "signerClient")))
}

const clientOf = ({ assets, network, routes, rpcUrl, signer }: Options): SchemeClient => {
  const table = Result.getOrThrow(EvmAsset.table(assets ?? []))
  const chain = EvmNetwork.fromText(network)
  const payer = EvmAddress.fromText(signer.address)
  if (chain === undefined && network !== everyNetwork) {
    throw new Misconfigured({ message: `exactEvm.client: network: "${network}" ${EvmNetwork.fault}` })
  }
  if (payer === undefined) {
    throw new Misconfigured({ message: `exactEvm.client: the signer's address "${signer.address}" is not an address` })
  }
  if (rpcUrl !== undefined && chain === undefined) {
    throw new Misconfigured({ message: "exactEvm.client: rpcUrl: a node is of one network; give that as network" })
  }
  const reader = rpcUrl === undefined ? undefined : AllowanceReader.make(rpcUrl)
  return {
    scheme: ExactEvm.scheme,
    network: chain,
    account: EvmAddress.checksum(payer),
    paysOn: (on) => table.of(on).length > 0,
    asset: ({ asset, network: offered }) => {
      const on = EvmNetwork.fromText(offered)
      return asset === undefined || on === undefined || (chain ?? on) !== on ? undefined : table.find(on, asset)
    },
    objection: (requirements, asset) =>
      goesOn(requirements)
        ? (routes?.objection(signer, requirements, asset) ?? (routes === undefined ? withoutRoutes : undefined))
        : objectionTo(signer, requirements, asset),
    chainObjection: (requirements, asset) =>
      signer.operations !== undefined && isByOperation(signer, asset, requirements)
        ? signer.operations.chainObjection(asset.network, rpcUrl)
        : Effect.undefined,
    sign: (request) =>
      goesOn(request.requirements)
        ? (routes?.sign(signer, payer, request) ?? Effect.fail(new SigningFailed({ message: withoutRoutes })))
        : sign(signer, { reader, rpcUrl }, payer, request)
  }
}

/** Whether an offer's money goes on to another network. */
const goesOn = (requirements: PaymentRequirements.PaymentRequirements): boolean =>
  RouteTerms.isRouted(requirements) || InventoryTerms.isInventory(requirements)

const withoutRoutes =
  "its money goes on to another network; give exactEvm.client routes: exactEvm.routes() to pay such offers"

const signerIn = ({ account, signer }: Pick<AnyOptions, "account" | "signer">): EvmSigner => {
  if (signer !== undefined && account === undefined) return signer
  if (account !== undefined && signer === undefined) return OperationSigning.smartAccount(account)
  const message =
    "exactEvm.client: give a signer, such as exactEvm.localSigner(privateKey) or a viem account, or an account, such as a viem smart account"
  throw new Misconfigured({ message })
}

/** The way in which the client pays an offer. An account that makes user operations needs no approval for them, so they go first. */
const methodFor = (
  { operations }: EvmSigner,
  asset: Asset,
  { extra = {} }: PaymentRequirements.PaymentRequirements
): EvmAsset.Method => {
  if (operations?.isOnly === true) return "userOperation"
  const isByPermit2 = extra["assetTransferMethod"] === permit2
  if (EvmAsset.hasAuthorizations(asset)) return isByPermit2 ? permit2 : authorizations
  const takesOperation = operations !== undefined && operations.objection(extra) === undefined
  return isByPermit2 && !takesOperation ? permit2 : "userOperation"
}

/** Whether the client pays an offer by a user operation. */
const isByOperation = (
  signer: EvmSigner,
  asset: Asset,
  requirements: PaymentRequirements.PaymentRequirements
): boolean => !goesOn(requirements) && methodFor(signer, asset, requirements) === "userOperation"

const objectionTo = (
  signer: EvmSigner,
  requirements: PaymentRequirements.PaymentRequirements,
  asset: Asset
): string | undefined => {
  const method = methodFor(signer, asset, requirements)
  if (method === "userOperation") return objectionToOperation(signer, requirements)
  return method === permit2 ? undefined : objection(requirements, asset)
}

const objectionToOperation = (
  { operations }: EvmSigner,
  { extra = {} }: PaymentRequirements.PaymentRequirements
): string | undefined =>
  operations === undefined
    ? "the token has no transfer authorizations (EIP-3009), and the offer takes user operations alone; give exactEvm.client the signer exactEvm.smartAccount(account)"
    : operations.objection(extra)

/**
 * The domain never comes from the server. But a server that names another domain would reject a signature under ours, which
 * could be settled all the same; so could an authorization where the server wants another kind.
 */
const objection: NonNullable<SchemeClient["objection"]> = ({ extra = {} }, asset) => {
  const kind = extra["assetTransferMethod"] ?? authorizations
  if (kind !== authorizations) {
    return `the offer wants ${quoted(kind)}, and this client signs transfer authorizations (EIP-3009) and transfers by Permit2`
  }
  const wrong = ["name", "version"].find((part) => typeof extra[part] === "string" && extra[part] !== asset.extra[part])
  if (wrong === undefined) return undefined
  return `the offer says that the ${wrong} of its EIP-712 domain is ${quoted(extra[wrong])}, and this client knows it as ${quoted(asset.extra[wrong])}; if the offer is right, give the token to exactEvm.client as one of its assets`
}

/** Quotes a stranger's text: short, and without characters that a terminal would interpret. */
const quoted = (value: unknown): string => AsciiJson.encode(value).slice(0, 100)

/** The name of this scheme's authorizations in some offers; most leave it out. */
const authorizations = "eip3009"
/** The name of transfers by Permit2 in offers. */
const permit2 = "permit2"

/** The node of a client, and what is read from it. */
interface ClientNode {
  readonly reader: AllowanceReader.AllowanceReader | undefined
  readonly rpcUrl: string | undefined
}

const sign = Effect.fnUntraced(function* (
  signer: EvmSigner,
  { reader, rpcUrl }: ClientNode,
  from: EvmAddress.Address,
  request: SigningRequest
): Effect.fn.Return<SignedPayment, SigningFailed> {
  const { asset, binding, requirements } = request
  const method = methodFor(signer, asset, requirements)
  if (method === "userOperation" && signer.operations !== undefined)
    return yield* signer.operations.sign(from, request, rpcUrl)
  const to = EvmAddress.fromText(requirements.payTo)
  if (to === undefined || to === EvmAddress.zero) {
    return yield* new SigningFailed({
      message: `the offer's recipient "${requirements.payTo}" is not an address that can be paid`
    })
  }
  if (method === permit2) return yield* PermitSigning.sign(signer, reader, from, to, request)
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
  const typed = Eip3009.typedData(EvmAsset.domain(asset), authorization)
  const signature = yield* signatureOf(signer, typed)
  return {
    payer: EvmAddress.checksum(from),
    nonce,
    payload: { signature, authorization: Eip3009.onWire(authorization), ...(binding && { binding: { ...binding } }) }
  }
})
