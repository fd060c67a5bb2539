/**
 * Signing of payments by user operation: the account's calls are the payment guard's and the token's alone, the gas costs its
 * owner nothing, and the nonce is a fresh one, so that no chain has to be asked for it. Each operation has an end: by the account's
 * own signature, and then without the guard, or by the guard, which a node of the payer's has shown before.
 */
import { SigningFailed, type SignedPayment, type SigningRequest } from "@pontage/core"
import { Entropy } from "@pontage/core/Entropy"
import * as OptionCheck from "@pontage/core/OptionCheck"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import * as ExactEvm from "../payment/ExactEvm.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import * as EvmNetwork from "../primitives/EvmNetwork.ts"
import * as AccountCalls from "../transfer/AccountCalls.ts"
import * as EvmAsset from "../transfer/EvmAsset.ts"
import * as GuardContract from "../transfer/GuardContract.ts"
import type { EvmSigner } from "../wallet/EvmSigner.ts"
import type { CallToEncode, EvmSmartAccount } from "../wallet/EvmSmartAccount.ts"
import * as GuardProof from "../wallet/GuardProof.ts"
import * as NodeReading from "../wallet/NodeReading.ts"

/** The limits of gas: of the validation, with and without the account's deployment, and of the calls. */
const gas = { verification: 150_000n, deployment: 600_000n, calls: 150_000n }

/** Signs the operation that pays what the core has decided on. */
const sign = Effect.fnUntraced(function* (
  account: EvmSmartAccount,
  nonces: Options["nonces"],
  sender: EvmAddress.Address,
  { asset, binding, requirements, validBefore }: SigningRequest
): Effect.fn.Return<SignedPayment, SigningFailed> {
  const payTo = EvmAddress.fromText(requirements.payTo)
  if (payTo === undefined || payTo === EvmAddress.zero) {
    const message = `the offer's recipient "${requirements.payTo}" is not an address that can be paid`
    return yield* new SigningFailed({ message })
  }
  const { bytes } = yield* Entropy
  const tag = yield* binding ? ExactEvm.boundNonce(binding) : Effect.succeed(ExactEvm.nonceFrom(bytes(24)))
  const calls = AccountCalls.of({
    token: EvmAsset.domain(asset).verifyingContract,
    payTo,
    amount: BigInt(requirements.maxAmountRequired),
    guard: isGuarded(account, requirements.extra ?? {})
      ? { address: GuardContract.address, validBefore: BigInt(validBefore), tag }
      : undefined
  })
  // Kernel keeps 30 bytes of the nonce for its caller: there the whole tag is in the guard's call alone.
  const nonce = nonces === "kernel" ? BigInt.asUintN(240, BigInt(tag)) : BigInt(tag)
  const chainId = EvmNetwork.chainId(asset.network)
  const { delegation, ...signed } = yield* Effect.tryPromise({
    try: async () => ({
      ...(await signedBy(account, nonce, calls, { chainId, validBefore })),
      delegation: await delegationOf(account, chainId)
    }),
    catch: (cause) => new SigningFailed({ message: `the smart account ${account.address} did not sign`, cause })
  })
  if (delegation !== undefined && !isIn(requirements.extra ?? {}, "delegates", delegation.address)) {
    const message = `the account ${account.address} does not delegate to its code yet, and the offer takes no delegation to ${delegation.address}; delegate first`
    return yield* new SigningFailed({ message })
  }
  const entryPoint = EvmAddress.fromText(account.entryPoint.address) ?? EvmAddress.zero
  return {
    payer: EvmAddress.checksum(sender),
    nonce: ExactEvm.operationClaim(entryPoint, sender, nonce),
    payload: {
      entryPoint: EvmAddress.checksum(entryPoint),
      userOperation: { ...signed, sender: EvmAddress.checksum(sender) },
      ...(delegation && { delegation }),
      ...(binding && { binding: { ...binding } })
    }
  }
})

/** The signed delegation of a plain account whose code is not on the chain yet (EIP-7702). */
const delegationOf = async (
  { address: sender, authorization, client, isDeployed }: EvmSmartAccount,
  chainId: number
) => {
  if (authorization === undefined || isDeployed === undefined || (await isDeployed())) return undefined
  const { account, address } = authorization
  if (account.signAuthorization === undefined || client === undefined) {
    throw new Error("its plain account signs no authorization (EIP-7702); delegate first")
  }
  const nonce = await NodeReading.transactionCount((call) => client.request(call), sender)
  const { r, s, yParity } = await account.signAuthorization({ address, chainId, nonce })
  return { chainId: `${chainId}`, address, nonce: `${nonce}`, yParity: yParity ?? 0, r, s }
}

/** The factory by which libraries name a delegation. */
const delegationFactory = /^0x7702(?:0{36})?$/

/** Whether call data makes these calls and no others, each of which undoes the rest where it fails: without that the guard ends nothing. */
const isMade = (callData: string, calls: ReadonlyArray<AccountCalls.AccountCall>): boolean => {
  const read = EvmHex.isHex(callData) ? AccountCalls.read(EvmHex.toLowerCase(callData)) : undefined
  const made = read && AccountCalls.of(read)
  return (
    made?.length === calls.length && made.every(({ data, to }, at) => calls[at]?.to === to && calls[at].data === data)
  )
}

const otherCalls =
  "its encodeCalls made something else than the payment's calls, or lets one fail by itself; expected execute, executeBatch, Safe's executeUserOp, or ERC-7579 in its default mode"

/** The signed operation with numbers as decimal strings. */
const signedBy = async (
  account: EvmSmartAccount,
  nonce: bigint,
  calls: ReadonlyArray<AccountCalls.AccountCall>,
  { chainId, validBefore }: { readonly chainId: number; readonly validBefore: number }
) => {
  const list: ReadonlyArray<CallToEncode> = calls.map((call) => ({ ...call, value: 0n }))
  const [{ factory, factoryData }, callData] = await Promise.all([account.getFactoryArgs(), account.encodeCalls(list)])
  if (!isMade(callData, calls)) throw new Error(otherCalls)
  const isDeployed = factory === undefined || factoryData === undefined || delegationFactory.test(factory)
  const deployment = isDeployed ? undefined : { factory, factoryData }
  const limits = {
    verificationGasLimit: deployment === undefined ? gas.verification : gas.deployment,
    callGasLimit: gas.calls
  }
  const operation = { sender: account.address, nonce, ...deployment, callData, ...limits }
  const signature = await account.signUserOperation({
    ...operation,
    preVerificationGas: 0n,
    maxFeePerGas: 0n,
    maxPriorityFeePerGas: 0n,
    signature: "0x",
    chainId,
    // The end of the validity is the first second after it.
    ...(account.signsValidity && { validUntil: validBefore - 1 })
  })
  if (!EvmHex.isHex(signature) || signature === "0x") throw new Error("it returned something that is not a signature")
  return {
    nonce: `${nonce}`,
    ...deployment,
    callData,
    verificationGasLimit: `${limits.verificationGasLimit}`,
    callGasLimit: `${limits.callGasLimit}`,
    signature
  }
}

/** Options of {@link smartAccount}. */
export interface Options {
  /** `userOperations` for an account without ERC-1271, such as SimpleAccount: it signs operations in every token. */
  readonly pays?: "userOperations"
  /** `kernel` for Kernel 3, whose nonces name a validator in front: two zero bytes are the root validator. */
  readonly nonces?: "kernel"
}

const check = OptionCheck.options<Options>({
  pays: OptionCheck.optional(OptionCheck.oneOf("userOperations")),
  nonces: OptionCheck.optional(OptionCheck.oneOf("kernel"))
})

/** The check of a smart account. */
export const accountCheck = OptionCheck.having<EvmSmartAccount>(
  "a smart account, such as one of viem's",
  "address",
  "signTypedData",
  "signUserOperation",
  "encodeCalls",
  "getFactoryArgs",
  "entryPoint"
)

/**
 * A smart account as a signer: it needs no coin, and need not be deployed yet. In a token with transfer authorizations it signs
 * these (ERC-1271, ERC-6492), in any other token a user operation. Throws `Misconfigured` for something else than an account.
 */
export const smartAccount = (account: EvmSmartAccount, options: Options = {}): EvmSigner => {
  Result.getOrThrow(OptionCheck.read(accountCheck, account, "exactEvm.smartAccount"))
  const { nonces, pays } = Result.getOrThrow(OptionCheck.read(check, options, "exactEvm.smartAccount"))
  const proof = account.signsValidity ? () => Effect.undefined : GuardProof.make(account.client)
  return {
    address: account.address,
    signTypedData: (data) => account.signTypedData(data),
    operations: {
      isOnly: pays !== undefined,
      objection: (extra) =>
        isOffered(extra, account)
          ? undefined
          : `the offer takes no user operations of the EntryPoint ${account.entryPoint.address}, and this account pays by them`,
      chainObjection: proof,
      sign: (sender, request, rpcUrl) =>
        Effect.flatMap(proof(request.asset.network, rpcUrl), (message) =>
          message === undefined ? sign(account, nonces, sender, request) : Effect.fail(new SigningFailed({ message }))
        )
    }
  }
}

/** Whether an offer takes user operations of this account's EntryPoint. */
const isOffered = (extra: Readonly<Record<string, unknown>>, { entryPoint }: EvmSmartAccount): boolean =>
  isIn(extra, "entryPoints", entryPoint.address)

/** A term of an offer of user operations; `undefined` where there is none. */
const termIn = (
  extra: Readonly<Record<string, unknown>>,
  name: "entryPoints" | "delegates" | "needsGuard"
): unknown => {
  const offered = extra["userOperations"]
  return typeof offered === "object" && offered !== null ? Reflect.get(offered, name) : undefined
}

/** Whether the guard ends the operation: an account whose own signature does that saves its gas, unless the offer asks for it. */
const isGuarded = ({ signsValidity }: EvmSmartAccount, extra: Readonly<Record<string, unknown>>): boolean =>
  signsValidity === undefined || termIn(extra, "needsGuard") === true

/** Whether a list of an offer's terms of user operations has an address. */
const isIn = (
  extra: Readonly<Record<string, unknown>>,
  name: "entryPoints" | "delegates",
  address: string
): boolean => {
  const list = termIn(extra, name)
  return Array.isArray(list) && list.some((one) => typeof one === "string" && EvmAddress.equals(one, address))
}
