/**
 * Payments by Permit2 for tests: 10,000 units from the first payer to the payee, signed by viem and built by hand as x402's clients
 * do, so that the facilitator is tested independently of our own client; each with one deviation.
 */
import { PaymentPayload, type PaymentRequest } from "@pontage/core"
import * as Effect from "effect/Effect"
import { type Address, encodeFunctionData, type Hex, parseAbi, parseSignature } from "viem"

import * as EvmAddress from "../src/primitives/EvmAddress.ts"
import * as EvmHex from "../src/primitives/EvmHex.ts"
import * as PermitSettling from "../src/sending/PermitSettling.ts"
import { EvmTestChain, Permit2Contracts, PlainToken } from "../src/testing/index.ts"
import * as PermitCall from "../src/transfer/PermitCall.ts"
import * as Payment from "./EvmTestPayment.ts"

/** The signed fields of a transfer. */
interface PermitFields {
  readonly token: Address
  readonly amount: bigint
  readonly spender: Address
  readonly nonce: bigint
  readonly deadline: bigint
  readonly to: Address
  readonly validAfter: bigint
}

/** The account that signs. */
interface PermitSigner {
  readonly address: Address
  // oxlint-disable-next-line typescript/no-explicit-any -- viem's own generic signature
  readonly signTypedData: (data: any) => Promise<Hex>
}

/** The deviation of a payment from the good one. */
export interface PermitDeviation {
  /** The account that pays and signs; default the first payer. */
  readonly payer?: PermitSigner
  /** The account named as the payer. */
  readonly from?: Address
  readonly token?: Address
  /** Other terms, properly signed. */
  readonly signed?: Partial<PermitFields>
  /** Other fields of `permit2Authorization` than those signed. */
  readonly written?: Readonly<Record<string, unknown>>
  readonly signature?: (signature: Hex) => Hex
  /** Fields of the approval by signature that the payment brings. */
  readonly approval?: Readonly<Record<string, unknown>>
  readonly binding?: PaymentPayload.RequestBinding
  readonly requirements?: Readonly<Record<string, unknown>>
}

const types = {
  PermitWitnessTransferFrom: [
    { name: "permitted", type: "TokenPermissions" },
    { name: "spender", type: "address" },
    { name: "nonce", type: "uint256" },
    { name: "deadline", type: "uint256" },
    { name: "witness", type: "Witness" }
  ],
  TokenPermissions: [
    { name: "token", type: "address" },
    { name: "amount", type: "uint256" }
  ],
  Witness: [
    { name: "to", type: "address" },
    { name: "validAfter", type: "uint256" }
  ]
} as const

const approvalTypes = {
  Permit: [
    { name: "owner", type: "address" },
    { name: "spender", type: "address" },
    { name: "value", type: "uint256" },
    { name: "nonce", type: "uint256" },
    { name: "deadline", type: "uint256" }
  ]
} as const

const permitTuple = "((address token, uint256 amount) permitted, uint256 nonce, uint256 deadline)"

/** The functions of Permit2 and of its proxy that tests call. */
export const abi = parseAbi([
  `function settle(${permitTuple} permit, address owner, (address to, uint256 validAfter) witness, bytes signature)`,
  "function invalidateUnorderedNonces(uint256 word, uint256 mask)",
  "function nonceBitmap(address owner, uint256 word) view returns (uint256)",
  "function nonces(address owner) view returns (uint256)"
])

let lastNonce = 0n

/** A signed payment, its terms, its signature, and the call by which a stranger could settle it. */
export const signed = Effect.fnUntraced(function* (deviation: PermitDeviation = {}) {
  const { accounts, chainId, network, token: dollar } = yield* EvmTestChain.EvmTestChain
  const payer = deviation.payer ?? accounts.payers[0]
  const fields: PermitFields = {
    token: deviation.token ?? dollar.address,
    amount: 10_000n,
    spender: Permit2Contracts.published.exactProxy,
    nonce: ++lastNonce << 64n,
    deadline: (yield* Payment.latestTime) + 60n,
    to: accounts.payee.address,
    validAfter: 0n,
    ...deviation.signed
  }
  const { amount, deadline, nonce, spender, to, token, validAfter } = fields
  const message = { permitted: { token, amount }, spender, nonce, deadline, witness: { to, validAfter } }
  const domain = { name: "Permit2", chainId, verifyingContract: Permit2Contracts.published.permit2 }
  const data = { domain, types, primaryType: "PermitWitnessTransferFrom", message } as const
  const made = yield* Effect.promise(() => payer.signTypedData(data))
  const signature = deviation.signature ? deviation.signature(made) : made
  const from = deviation.from ?? payer.address
  const approval = deviation.approval && (yield* approvalOf(payer, fields, deviation.approval))
  const json = {
    signature,
    permit2Authorization: {
      from,
      permitted: { token, amount: `${amount}` },
      spender,
      nonce: `${nonce}`,
      deadline: `${deadline}`,
      witness: { to, validAfter: `${validAfter}` },
      ...deviation.written
    },
    ...(approval && { eip2612GasSponsoring: approval }),
    ...(deviation.binding && { binding: { ...deviation.binding } })
  }
  const request: PaymentRequest = {
    paymentPayload: PaymentPayload.sealPayload("exact", network, json),
    paymentRequirements: { ...(yield* Payment.requirements), asset: token, ...deviation.requirements }
  }
  const args = [{ permitted: { token, amount }, nonce, deadline }, from, { to, validAfter }, signature] as const
  const call = {
    to: Permit2Contracts.published.exactProxy,
    data: encodeFunctionData({ abi, functionName: "settle", args })
  }
  return { request, fields, payer: from, signature, call }
})

/** The approval of Permit2 by signature, for the chain's own token. */
const approvalOf = Effect.fnUntraced(function* (
  payer: PermitSigner,
  { amount, deadline, token }: PermitFields,
  written: Readonly<Record<string, unknown>>
) {
  const { chainId, client, token: dollar } = yield* EvmTestChain.EvmTestChain
  const owner = payer.address
  const nonce = yield* Effect.promise(() =>
    client.readContract({ address: dollar.address, abi, functionName: "nonces", args: [owner] })
  )
  const domain = { name: dollar.name, version: dollar.version, chainId, verifyingContract: dollar.address }
  const message = { owner, spender: Permit2Contracts.published.permit2, value: amount, nonce, deadline }
  const data = { domain, types: approvalTypes, primaryType: "Permit", message } as const
  const signature = yield* Effect.promise(() => payer.signTypedData(data))
  return {
    from: owner,
    asset: token,
    spender: message.spender,
    amount: `${amount}`,
    nonce: `${nonce}`,
    deadline: `${deadline}`,
    signature,
    version: "1",
    ...written
  }
})

export const request = (deviation: PermitDeviation = {}) => Effect.map(signed(deviation), (one) => one.request)

/** The call by which a stranger could settle it through the settler of batches. */
export const batchCall = ({ fields, payer, signature }: Effect.Success<ReturnType<typeof signed>>) => {
  const { amount: value, deadline: validBefore, nonce, to, token, validAfter } = fields
  const authorization = {
    from: Payment.parsed(payer),
    to: Payment.parsed(to),
    value,
    validAfter,
    validBefore,
    nonce: EvmHex.fromTrusted(`0x${EvmHex.toWord(nonce)}`)
  }
  const transfer = { token: Payment.parsed(token), authorization, signature }
  const { data } = PermitSettling.toCall(PermitCall.settler, [transfer], undefined)
  return { to: EvmAddress.checksum(PermitCall.settler), data }
}

/** The malleated twin of a signature: s in the upper half of the order, and the other recovery id. */
export const malleated = (signature: Hex): Hex => {
  const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
  const { r, s, yParity } = parseSignature(signature)
  return `0x${r.slice(2)}${(order - BigInt(s)).toString(16).padStart(64, "0")}${yParity === 0 ? "1c" : "1b"}`
}

/** A token of USDT's shape, of which the payer owns a million units. */
export const plainToken = Effect.fnUntraced(function* (owner: Address) {
  const { deploy, send } = yield* EvmTestChain.EvmTestChain
  const token = yield* deploy(PlainToken)
  yield* send({
    to: token,
    data: encodeFunctionData({ abi: PlainToken.abi, functionName: "mint", args: [owner, 1_000_000n] })
  })
  return token
})
