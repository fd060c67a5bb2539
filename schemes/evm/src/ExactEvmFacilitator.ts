/**
 * The settling half of `exact` on EVM: reads and verifies authorizations, signs the transactions that submit them, and
 * believes only the token's own events.
 */
import {
  type Asset,
  ChainUnavailable,
  type FacilitatorScheme,
  invalid,
  Misconfigured,
  type Payment,
  type PaymentRequirements,
  type Prepared,
  refuse,
  type SchemeFacilitator,
  type Slot
} from "@pontage/core"
import * as Effect from "effect/Effect"

import * as EvmAddress from "./EvmAddress.ts"
import * as EvmAsset from "./EvmAsset.ts"
import * as EvmHex from "./EvmHex.ts"
import * as EvmNetwork from "./EvmNetwork.ts"
import * as EvmObservation from "./EvmObservation.ts"
import * as EvmProof from "./EvmProof.ts"
import * as EvmRpc from "./EvmRpc.ts"
import * as EvmSurvey from "./EvmSurvey.ts"
import { type EvmTransactionSigner, sign } from "./EvmTransactionSigner.ts"
import * as EvmVerification from "./EvmVerification.ts"
import * as ExactEvm from "./ExactEvm.ts"
import { type RecoverPublicKey, SignatureRecovery } from "./SignatureRecovery.ts"

/**
 * Who settles, and where.
 *
 * @category models
 */
export interface Options {
  /** The account that sends transactions and pays their gas, or several to share the load. A viem local account fits. */
  readonly signer: EvmTransactionSigner | ReadonlyArray<EvmTransactionSigner>
  readonly rpcUrl: string
  /** `eip155:<chain id>`; left out, it is the one the RPC serves. */
  readonly network?: string
  /** Tokens to settle beyond the known ones; no other token is ever settled. */
  readonly assets?: ReadonlyArray<EvmAsset.CustomAsset>
  /** The most that is paid for a unit of gas, in wei; default 500 gwei. Above it nothing is settled until it falls. */
  readonly maxFeePerGas?: bigint
  /** Milliseconds until a question to the RPC counts as unanswered; default 10 000. */
  readonly rpcTimeoutMillis?: number
  /** Called with the method of each question to the RPC: for counting. */
  readonly onRequest?: (method: string) => void
}

/** What the parts of the half share. */
interface Chain {
  readonly rpc: EvmRpc.Shape
  readonly network: PaymentRequirements.PaymentRequirements["network"]
  readonly chainId: number
  readonly assets: EvmAsset.EvmAssets
  readonly signers: ReadonlyMap<string, EvmTransactionSigner>
  /** The account that simulations pretend to be sent by. */
  readonly caller: EvmAddress.Address
  readonly recover: RecoverPublicKey
  readonly maxFeePerGas: bigint | undefined
  /** Tokens that were proven against the chain; each is proven before it is first used. */
  readonly proven: Set<Asset>
}

/** A payment as this half holds it: its token, what was signed, and the call that settles it once it was verified. */
interface Held extends ExactEvm.Payload {
  readonly token: Asset
}

/**
 * The settling half. It comes to life once the RPC has shown that it serves the network and that the signers are plain
 * accounts: a signer with code (EIP-7702) has no lane of its own in a node's pool.
 *
 * @category constructors
 */
export const facilitator = (options: Options): FacilitatorScheme =>
  Effect.gen(function* () {
    const chain = yield* connect(options)
    const calls = new WeakMap<Held, EvmVerification.TransferCall>()
    return half(chain, calls)
  })

const half = (chain: Chain, calls: WeakMap<Held, EvmVerification.TransferCall>): SchemeFacilitator<Held> => {
  const { network, rpc, signers } = chain
  const callFor = (payment: Payment<Held>) => {
    const known = calls.get(payment.payload)
    if (known !== undefined) return Effect.succeed(known)
    const { authorization, signature, token } = payment.payload
    return Effect.tap(
      EvmVerification.transferCall(rpc, EvmAsset.domain(token), authorization, signature, chain.recover),
      (call) => Effect.sync(() => calls.set(payment.payload, call))
    )
  }
  return {
    scheme: ExactEvm.scheme,
    network,
    lanes: [...signers.keys()],
    read: (requirements, json) => read(chain, requirements, json),
    verify: Effect.fnUntraced(function* (payment) {
      yield* prove(chain, payment.payload.token)
      const call = yield* callFor(payment)
      yield* EvmVerification.simulate(rpc, chain.caller, call)
    }),
    balance: ({ payload }) => balance(chain, payload),
    nextSlot: (lane) => Effect.map(rpc.getTransactionCount(addressOf(lane), "pending"), BigInt),
    survey: EvmSurvey.make(rpc, chain.maxFeePerGas),
    prepare: (payment, slot, survey) =>
      Effect.flatMap(Effect.catchTag(callFor(payment), ["PaymentError", "ValidationError"], unverified), (call) =>
        signIn(chain, slot, (signer, place) => sign(signer, chain.chainId, call, place, survey))
      ),
    fill: (slot, survey) =>
      signIn(chain, slot, (signer, place) =>
        sign(signer, chain.chainId, { to: signer.address, data: "0x", gas: 21_000n }, place, survey)
      ),
    submit: (prepared) => submit(chain, prepared),
    observe: (payment, prepared) => {
      const { authorization, token } = payment.payload
      const expected = { token: EvmAsset.domain(token).verifyingContract, authorization }
      return EvmObservation.observe(rpc, expected, prepared, { from: chain.caller, call: callFor(payment) })
    },
    signers: Effect.forEach([...signers.keys()], (address) =>
      Effect.map(rpc.getBalance(addressOf(address)), (wei) => ({ address, balance: wei }))
    )
  }
}

const connect = Effect.fnUntraced(function* (options: Options) {
  const table = yield* Effect.fromResult(EvmAsset.table(options.assets ?? []))
  const given = Array.isArray(options.signer) ? options.signer : [options.signer]
  const { onRequest, rpcTimeoutMillis, rpcUrl } = options
  const rpcFor = (network: string) =>
    EvmRpc.make({
      url: rpcUrl,
      network,
      ...(rpcTimeoutMillis !== undefined && { timeout: rpcTimeoutMillis }),
      ...(onRequest && { onRequest })
    })
  const network = options.network ?? EvmNetwork.fromChainId(yield* (yield* rpcFor("eip155")).chainId)
  const canonical = EvmNetwork.fromText(network)
  if (canonical === undefined) {
    return yield* new Misconfigured({
      message: `exactEvm.facilitator: "${network}" is not of the form eip155:<chain id>`
    })
  }
  const rpc = yield* rpcFor(canonical)
  yield* EvmProof.network(rpc, canonical)
  const signers = new Map<string, EvmTransactionSigner>()
  for (const signer of given) signers.set(EvmAddress.checksum(yield* plainAccount(rpc, signer)), signer)
  const [first] = signers.keys()
  if (first === undefined)
    return yield* new Misconfigured({ message: "exactEvm.facilitator: give at least one signer" })
  const chain: Chain = {
    rpc,
    network: canonical,
    chainId: EvmNetwork.chainId(canonical),
    assets: table,
    signers,
    caller: addressOf(first),
    recover: yield* SignatureRecovery,
    maxFeePerGas: options.maxFeePerGas,
    proven: new Set()
  }
  return chain
})

const plainAccount = Effect.fnUntraced(function* (rpc: EvmRpc.Shape, signer: EvmTransactionSigner) {
  const address = EvmAddress.fromText(signer.address)
  if (address === undefined) {
    return yield* new Misconfigured({
      message: `exactEvm.facilitator: the signer's address "${signer.address}" is no address`
    })
  }
  if ((yield* rpc.getCode(address)) !== "0x") {
    const message = `exactEvm.facilitator: the signer ${signer.address} has code on ${rpc.network}; use a plain account that delegates to nothing`
    return yield* new Misconfigured({ message })
  }
  return address
})

const read = Effect.fnUntraced(function* (
  chain: Chain,
  requirements: PaymentRequirements.PaymentRequirements,
  json: unknown
) {
  const payload = yield* ExactEvm.decodePayload(json)
  const { authorization, binding } = payload
  const token = requirements.asset === undefined ? undefined : chain.assets.find(chain.network, requirements.asset)
  if (token === undefined) {
    const message = `payments in ${requirements.asset ?? "an unnamed asset"} on ${chain.network} are not settled here`
    return yield* invalid("asset_mismatch", "asset_not_settled", message)
  }
  if (binding !== undefined && authorization.nonce !== (yield* ExactEvm.boundNonce(binding))) {
    const message = "the authorization's nonce is not the one that its challenge and salt give"
    return yield* invalid("binding_mismatch", "nonce_not_bound", message)
  }
  if (authorization.to === EvmAddress.zero) {
    return yield* refuse("INVALID_RECIPIENT", "zero_address", "the payment goes to the zero address")
  }
  const payment: Payment<Held> = {
    requirements,
    payload: { ...payload, token },
    authorization: {
      payer: EvmAddress.checksum(authorization.from),
      payTo: EvmAddress.checksum(authorization.to),
      asset: token.address,
      amount: authorization.value,
      nonce: authorization.nonce,
      validAfter: seconds(authorization.validAfter),
      validBefore: seconds(authorization.validBefore),
      binding
    }
  }
  return payment
})

/** Times beyond what a number holds exactly are as good as for ever. */
const seconds = (time: bigint): number =>
  time > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(time)

const prove = (chain: Chain, token: Asset): Effect.Effect<void, ChainUnavailable> =>
  chain.proven.has(token)
    ? Effect.void
    : EvmProof.asset(chain.rpc, token).pipe(
        Effect.andThen(Effect.sync(() => void chain.proven.add(token))),
        Effect.catchTag("Misconfigured", (error) => notSettleable(chain, error))
      )

/** A token that is not what the operator's table says is the operator's fault, and no verdict about the payment. */
const notSettleable = ({ network }: Chain, { message }: Misconfigured) =>
  Effect.andThen(Effect.logError(message), Effect.fail(new ChainUnavailable({ network, message })))

const balance = Effect.fnUntraced(function* ({ network, rpc }: Chain, { authorization, token }: Held) {
  const data: EvmHex.Hex = `0x70a08231${authorization.from.slice(2).padStart(64, "0")}`
  const outcome = yield* rpc.call({ to: EvmAsset.domain(token).verifyingContract, data, gas: 100_000n })
  if (outcome._tag === "Returned" && EvmHex.isBytes32(outcome.data)) return BigInt(outcome.data)
  return yield* new ChainUnavailable({ network, message: `${token.symbol} does not tell its balances` })
})

const signIn = <A, E>(
  chain: Chain,
  slot: Slot | undefined,
  use: (signer: EvmTransactionSigner, slot: Slot) => Effect.Effect<A, E>
): Effect.Effect<A, E | Misconfigured> => {
  const signer = slot && chain.signers.get(slot.lane)
  return slot !== undefined && signer !== undefined
    ? use(signer, slot)
    : Effect.fail(
        new Misconfigured({ message: `no signer of ${chain.network} works the lane ${slot?.lane ?? "(none)"}` })
      )
}

const unverified = (error: { readonly message: string }) =>
  Effect.fail(new Misconfigured({ message: `a payment was to be settled that does not verify: ${error.message}` }))

const submit = ({ rpc }: Chain, prepared: Prepared): ReturnType<SchemeFacilitator["submit"]> =>
  Effect.map(rpc.sendRawTransaction(EvmHex.fromTrusted(prepared.bytes)), (outcome) => {
    switch (outcome._tag) {
      case "Accepted":
      case "AlreadyKnown":
        return { _tag: "Accepted" }
      case "NonceTooLow":
      case "Underpriced":
        return { _tag: "SlotUsed" }
      case "InsufficientFunds":
      case "Rejected":
        return { _tag: "Refused", message: outcome.message }
    }
  })

const addressOf = (lane: string): EvmAddress.Address => EvmAddress.fromText(lane) ?? EvmAddress.zero
