/**
 * The calls of a smart account that make a payment, in the forms in which accounts take them: one call of `PaymentGuard` with
 * the end of the validity and the payment's tag, and then one transfer of the token (ERC-20); or, where the account's own
 * signature has the end of the validity, the transfer alone.
 *
 * Nothing is interpreted: call data is a payment only where it is, byte for byte, what one of the forms makes of its terms. So a
 * second transfer, a call of something else, the chain's coin, a call that may fail (`try`) and a delegate call have no place in it.
 */
import * as AbiEncoding from "../primitives/AbiEncoding.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmHex from "../primitives/EvmHex.ts"

/** The terms in the calls of a payment. */
export interface PaymentCalls {
  readonly token: EvmAddress.Address
  readonly payTo: EvmAddress.Address
  readonly amount: bigint
  /** The call of `PaymentGuard`; `undefined` where the account's signature has the end of the validity. */
  readonly guard: GuardCall | undefined
}

/** A call of `PaymentGuard`: its address, the end of the validity in seconds since 1970, and the payment's tag. */
export interface GuardCall {
  readonly address: EvmAddress.Address
  readonly validBefore: bigint
  readonly tag: EvmHex.Hex
}

/** One call of an account, without coin. */
export interface AccountCall {
  readonly to: EvmAddress.Address
  readonly data: EvmHex.Hex
}

/** transfer(address,uint256) */
const transferSelector = "0xa9059cbb"
/** check(uint256,bytes32) */
const checkSelector = "0x413bac6d"

/** The calls that make a payment, in their order. */
export const of = ({ amount, guard, payTo, token }: PaymentCalls): ReadonlyArray<AccountCall> => {
  const transfer: AccountCall = {
    to: token,
    data: `${transferSelector}${AbiEncoding.address(payTo)}${EvmHex.toWord(amount)}`
  }
  if (guard === undefined) return [transfer]
  const { address, tag, validBefore } = guard
  return [{ to: address, data: `${checkSelector}${EvmHex.toWord(validBefore)}${tag.slice(2)}` }, transfer]
}

/** An account's call data for a payment: the form that `encode` gives the calls. */
type Form = (calls: ReadonlyArray<AccountCall>) => EvmHex.Hex

const zero = EvmHex.toWord(0)
const listOf = (members: ReadonlyArray<AbiEncoding.Parameter>): { readonly tail: string } => ({
  tail: `${EvmHex.toWord(members.length)}${AbiEncoding.parameters(members)}`
})
const calls = (list: ReadonlyArray<AccountCall>) =>
  listOf(
    list.map(({ data, to }) => ({
      tail: AbiEncoding.parameters([AbiEncoding.address(to), zero, AbiEncoding.bytes(data)])
    }))
  )

/** executeBatch((address,uint256,bytes)[]): SimpleAccount 0.8, Simple7702, Coinbase, Solady. */
export const executeBatch: Form = (list) => `0x34fcd5be${AbiEncoding.parameters([calls(list)])}`

/** executeBatch(address[],uint256[],bytes[]): SimpleAccount 0.7, with an amount of coin for each call, or for none. */
const executeLists =
  (hasAmounts: boolean): Form =>
  (list) =>
    `0x47e1da2a${AbiEncoding.parameters([
      listOf(list.map(({ to }) => AbiEncoding.address(to))),
      listOf(hasAmounts ? list.map(() => zero) : []),
      listOf(list.map(({ data }) => AbiEncoding.bytes(data)))
    ])}`

/** execute(bytes32,bytes) in the mode of several calls that all have to succeed (ERC-7579): Kernel, Nexus, Safe7579. */
const executeMode: Form = (list) =>
  `0xe9ae5c53${AbiEncoding.parameters([
    `01${"0".repeat(62)}`,
    AbiEncoding.bytes(`0x${AbiEncoding.parameters([calls(list)])}`)
  ])}`

/** Safe's published contracts that make several calls, for a delegate call: MultiSend and MultiSendCallOnly, 1.3.0 and 1.4.1. */
export const multiSends: ReadonlyArray<EvmAddress.Address> = /* @__PURE__ */ [
  "0x38869bf66a61cf6bdb996a6ae40d5853fd43b526",
  "0x9641d764fc13c8b624c04430c7356c1c7c8102e2",
  "0xa238cbeb142c10ef7ad8442c6d1f9e89e07e7761",
  "0x40a2accbd92bca938b02010e17a5b8929b49130d"
].map((text) => EvmAddress.fromTail(EvmHex.fromTrusted(text)))

/** executeUserOp and executeUserOpWithErrorString (address,uint256,bytes,uint8) of Safe's module. */
const safeSelectors = ["0x7bb37428", "0x541d63c8"] as const

const safeCall = (selector: (typeof safeSelectors)[number], { data, to }: AccountCall, operation: 0 | 1): EvmHex.Hex =>
  `${selector}${AbiEncoding.parameters([AbiEncoding.address(to), zero, AbiEncoding.bytes(data), EvmHex.toWord(operation)])}`

const packed = ({ data, to }: AccountCall): string =>
  `00${to.slice(2)}${zero}${EvmHex.toWord((data.length - 2) / 2)}${data.slice(2)}`

/** multiSend(bytes) */
const multiSend = (list: ReadonlyArray<AccountCall>): EvmHex.Hex =>
  `0x8d80ff0a${AbiEncoding.parameters([AbiEncoding.bytes(`0x${list.map(packed).join("")}`)])}`

const safeBatches = safeSelectors.flatMap((selector) =>
  multiSends.map(
    (to): Form =>
      (list) =>
        safeCall(selector, { to, data: multiSend(list) }, 1)
  )
)

const safeSingle =
  (selector: (typeof safeSelectors)[number]): Form =>
  ([call]) =>
    call === undefined ? "0x" : safeCall(selector, call, 0)

/** The call data of a Safe with its module for calls of a payment: one alone, or several by MultiSend 1.4.1. */
export const bySafe: Form = (list) => (list.length === 1 ? safeSingle(safeSelectors[0])(list) : safeMulti(list))

const safeMulti: Form = (list) =>
  safeCall(safeSelectors[0], { to: multiSends[0] ?? EvmAddress.zero, data: multiSend(list) }, 1)

/** The forms of a guarded payment, and of Safe's, whose signature has the end of the validity. */
const guarded: ReadonlyArray<Form> = [
  executeBatch,
  executeLists(true),
  executeLists(false),
  executeMode,
  ...safeBatches
]
const unguarded: ReadonlyArray<Form> = safeSelectors.map(safeSingle)

/** Terms whose digits occur nowhere else in a form: their places are those of the terms. */
const marks = {
  token: EvmAddress.fromTail(`0x${"a1".repeat(20)}`),
  payTo: EvmAddress.fromTail(`0x${"b2".repeat(20)}`),
  amount: BigInt(`0x${"c3".repeat(32)}`),
  guard: {
    address: EvmAddress.fromTail(`0x${"d4".repeat(20)}`),
    validBefore: BigInt(`0x${"e5".repeat(32)}`),
    tag: EvmHex.fromTrusted(`0x${"f6".repeat(32)}`)
  }
} as const satisfies PaymentCalls

/** A form with the places of the terms in it. */
interface PlacedForm {
  readonly form: Form
  readonly length: number
  readonly places: Readonly<Record<"token" | "payTo" | "amount" | "guard" | "validBefore" | "tag", number>>
}

const placed = (form: Form, isGuarded: boolean): PlacedForm => {
  const text = form(of(isGuarded ? marks : { ...marks, guard: undefined }))
  const at = (byte: string) => text.indexOf(byte.repeat(20))
  const places = {
    token: at("a1"),
    payTo: at("b2"),
    amount: at("c3"),
    guard: at("d4"),
    validBefore: at("e5"),
    tag: at("f6")
  }
  return { form, length: text.length, places }
}

const forms = /* @__PURE__ */ [
  ...guarded.map((form) => placed(form, true)),
  ...unguarded.map((form) => placed(form, false))
]

/** The payment that call data (in lower case) makes; `undefined` for call data of any other form. */
export const read = (callData: EvmHex.Hex): PaymentCalls | undefined => {
  for (const { form, length, places } of forms) {
    if (callData.length !== length) continue
    const addressAt = (place: number) => EvmAddress.fromTail(`0x${callData.slice(place, place + 40)}`)
    const wordAt = (place: number): EvmHex.Hex => `0x${callData.slice(place, place + 64)}`
    const found: PaymentCalls = {
      token: addressAt(places.token),
      payTo: addressAt(places.payTo),
      amount: BigInt(wordAt(places.amount)),
      guard:
        places.guard < 0
          ? undefined
          : {
              address: addressAt(places.guard),
              validBefore: BigInt(wordAt(places.validBefore)),
              tag: wordAt(places.tag)
            }
    }
    if (form(of(found)) === callData) return found
  }
  return undefined
}
