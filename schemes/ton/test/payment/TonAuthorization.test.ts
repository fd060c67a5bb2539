import { assert, describe, it } from "@effect/vitest"
import { beginCell, Cell } from "@ton/core"
import * as Result from "effect/Result"

import {
  Ed25519,
  type ExactTon,
  JettonTransfer,
  TonAuthorization,
  TonBoc,
  TonMessage,
  TonNetwork,
  TonWallet,
  WalletRequest
} from "../../src/index.ts"
import * as TonPayer from "../../src/payment/TonPayer.ts"
import { TestJetton, TonTestAccounts } from "../../src/testing/index.ts"
import * as Forgery from "../TonForgery.ts"

const payer = TonTestAccounts.ofName("payer 0")
const other = Forgery.addressOf(TonTestAccounts.ofName("stranger").raw)
const payTo = Forgery.addressOf(TonTestAccounts.ofName("payee").raw)
const relayer = Forgery.addressOf(TonTestAccounts.ofName("relayer 0").raw)
const jetton = TestJetton.make("plain", TonTestAccounts.ofName("deployer").address).jetton
const jettonWallet = Forgery.addressOf(jetton.walletOf(payer.address).toRawString())
const now = 1_800_000_000

const terms: ExactTon.Terms = {
  kinds: ["w5-internal", "external"],
  responseDestination: relayer,
  maxInnerTon: 100_000_000n
}

interface Forged {
  readonly transfer?: Partial<Forgery.Transfer>
  readonly inner?: Partial<Forgery.Inner>
  readonly mode?: number
  readonly actions?: (message: Cell) => Cell | undefined
  readonly request?: Partial<Forgery.Request>
}

const bodyOf = ({ actions, inner, mode = 64, request, transfer }: Forged = {}) => {
  const body = Forgery.transfer({ amount: 10_000n, to: payTo, responseTo: relayer, ...transfer })
  const message = Forgery.message({ to: jettonWallet, body, ...inner })
  return Forgery.request({
    validUntil: now + 60,
    seqno: 0,
    actions: actions === undefined ? WalletRequest.actionsOf([{ mode, message }]) : actions(message),
    seed: payer.seed,
    ...request
  })
}

const wordOf = (read: ReturnType<typeof TonAuthorization.read>): string =>
  Result.match(read, {
    onSuccess: () => "taken",
    onFailure: (error) => (error._tag === "PaymentError" ? error.code : `${error.reason}/${error.detail}`)
  })

const payloadOf = (forged?: Forged): ExactTon.Payload => ({
  ...Forgery.payload(payer, bodyOf(forged)),
  kind: "w5-internal"
})

const nonceOf = (forged: Forged) => Result.getOrThrow(TonAuthorization.read(payloadOf(forged), terms)).nonce

const twice = (message: Cell) =>
  WalletRequest.actionsOf([
    { mode: 64, message },
    { mode: 64, message }
  ])

describe("a good request", () => {
  it("states payer, recipient, amount, validity, and the destination of the unused TON", () => {
    const read = Result.getOrThrow(TonAuthorization.read(payloadOf(), terms))
    assert.strictEqual(read.payer, payer.raw)
    assert.strictEqual(read.jettonWallet, jettonWallet)
    assert.deepStrictEqual(read.transfer, { queryId: 7n, amount: 10_000n, to: payTo, responseTo: relayer })
    assert.strictEqual(read.request.validUntil, now + 60)
    assert.strictEqual(read.request.mode, 64)
    assert.strictEqual(read.nonce.length, 64)
  })

  it("keeps its nonce under another signature of the same fields, and changes it with any of them", () => {
    assert.strictEqual(nonceOf({ request: { seed: new Uint8Array(32).fill(9) } }), nonceOf({}))
    assert.notStrictEqual(nonceOf({ request: { seqno: 1 } }), nonceOf({}))
    assert.notStrictEqual(nonceOf({ transfer: { queryId: 8n } }), nonceOf({}))
  })

  for (const mode of [1, 3]) {
    it(`may hand on an amount of its own with mode ${mode}`, () =>
      assert.strictEqual(
        wordOf(TonAuthorization.read(payloadOf({ mode, inner: { value: 50_000_000n } }), terms)),
        "taken"
      ))
  }

  for (const [name, payload] of Object.entries(Forgery.emptyPayloads)) {
    it(`may write its empty forward payload as ${name}, and is written again as the same cell`, () => {
      const { transfer } = Result.getOrThrow(TonAuthorization.read(payloadOf({ transfer: { payload } }), terms))
      const body = Forgery.transfer({ amount: 10_000n, to: payTo, responseTo: relayer, payload })
      assert.isTrue(JettonTransfer.toCell(transfer).equals(body))
    })
  }
})

describe("a request with a valid signature is refused where", () => {
  const init = { code: Cell.EMPTY, data: Cell.EMPTY }
  const cases: Readonly<Record<string, readonly [string, Forged]>> = {
    "it has two actions": ["unsupported_authorization/request", { actions: twice }],
    "it has none": ["unsupported_authorization/request", { actions: () => undefined }],
    "its action is another": [
      "unsupported_authorization/request",
      {
        actions: (message) =>
          beginCell().storeRef(Cell.EMPTY).storeUint(0x36e6b809, 32).storeUint(64, 8).storeRef(message).endCell()
      }
    ],
    "its list of actions does not end": [
      "unsupported_authorization/request",
      {
        actions: (message) =>
          beginCell()
            .storeRef(beginCell().storeBit(1).endCell())
            .storeUint(0x0ec3c86d, 32)
            .storeUint(64, 8)
            .storeRef(message)
            .endCell()
      }
    ],
    "it has an extended action": ["unsupported_authorization/request", { request: { extended: true } }],
    "it is one for an external message": ["unsupported_authorization/request", { request: { op: 0x7369676e } }],
    "it is one of an extension": ["unsupported_authorization/request", { request: { op: 0x6578746e } }],
    "its message does not bounce": ["unsupported_authorization/inner_message", { inner: { flags: 0b10000 } }],
    "its message is a bounced one": ["unsupported_authorization/inner_message", { inner: { flags: 0b11100 } }],
    "its message deploys something": ["unsupported_authorization/inner_message", { inner: { init } }],
    "mode 64 hands on something of its own": ["unsupported_authorization/send_mode", { inner: { value: 1n } }],
    "a fixed amount is nothing": ["unsupported_authorization/send_mode", { mode: 3 }],
    "a fixed amount is too much": ["unsupported_authorization/send_mode", { mode: 3, inner: { value: 100_000_001n } }],
    "the operation is another": ["unsupported_authorization/transfer", { transfer: { op: 0x595f07bc } }],
    "its message's fee for hypercube routing is one zero byte": [
      "unsupported_authorization/inner_message",
      { inner: { odd: { ihrFee: Forgery.longCoins(0n, 1) } } }
    ],
    "its message's forward fee is fifteen zero bytes": [
      "unsupported_authorization/inner_message",
      { inner: { odd: { forwardFee: Forgery.longCoins(0n, 15) } } }
    ],
    "its message's value is one zero byte": [
      "unsupported_authorization/inner_message",
      { inner: { odd: { value: Forgery.longCoins(0n, 1) } } }
    ],
    "its message's value has a leading zero byte": [
      "unsupported_authorization/inner_message",
      { mode: 3, inner: { odd: { value: Forgery.longCoins(50_000_000n, 5) } } }
    ],
    "its message's destination has anycast": [
      "unsupported_authorization/inner_message",
      { inner: { odd: { to: Forgery.anycast(jettonWallet) } } }
    ],
    "the amount has leading zero bytes": [
      "unsupported_authorization/transfer",
      { transfer: { odd: { amount: Forgery.longCoins(10_000n, 9) } } }
    ],
    "the forwarded TON is one zero byte": [
      "unsupported_authorization/transfer",
      { transfer: { odd: { forward: Forgery.longCoins(0n, 1) } } }
    ],
    "the recipient has anycast": [
      "unsupported_authorization/transfer",
      { transfer: { odd: { to: Forgery.anycast(payTo) } } }
    ],
    "the destination of the rest has anycast": [
      "unsupported_authorization/transfer",
      { transfer: { odd: { responseTo: Forgery.anycast(relayer) } } }
    ],
    "it forwards TON": ["unsupported_authorization/transfer", { transfer: { forward: 1n } }],
    "it forwards a payload in place": [
      "unsupported_authorization/transfer",
      { transfer: { payload: (builder) => builder.storeBit(0).storeUint(0, 2) } }
    ],
    "it forwards one bit that is set": [
      "unsupported_authorization/transfer",
      { transfer: { payload: (builder) => builder.storeBit(0).storeBit(1) } }
    ],
    "it forwards a cell with content": [
      "unsupported_authorization/transfer",
      { transfer: { payload: (builder) => builder.storeBit(1).storeRef(beginCell().storeUint(7, 8).endCell()) } }
    ],
    "it forwards a cell with a cell": [
      "unsupported_authorization/transfer",
      { transfer: { payload: (builder) => builder.storeBit(1).storeRef(beginCell().storeRef(Cell.EMPTY).endCell()) } }
    ],
    "its forwarded cell is missing": [
      "unsupported_authorization/transfer",
      { transfer: { payload: (builder) => builder.storeBit(1) } }
    ],
    "it has a custom payload": ["unsupported_authorization/transfer", { transfer: { custom: true } }],
    "something is left over": [
      "unsupported_authorization/transfer",
      { transfer: { payload: Forgery.emptyPayloads["one zero bit"], tail: (builder) => builder.storeBit(0) } }
    ],
    "a cell is left over": [
      "unsupported_authorization/transfer",
      { transfer: { tail: (builder) => builder.storeRef(Cell.EMPTY) } }
    ],
    "the unused TON goes to no account": ["INVALID_RECIPIENT", { transfer: { responseTo: undefined } }],
    "the unused TON goes to another account": ["INVALID_RECIPIENT", { transfer: { responseTo: other } }],
    "the rest goes to the payer": ["INVALID_RECIPIENT", { transfer: { responseTo: Forgery.addressOf(payer.raw) } }]
  }
  for (const [name, [word, forged]] of Object.entries(cases)) {
    it(`namely ${name}`, () => assert.strictEqual(wordOf(TonAuthorization.read(payloadOf(forged), terms)), word))
  }

  it("namely mode 1 hands on nothing, or too much", () => {
    for (const value of [0n, 100_000_001n]) {
      const read = TonAuthorization.read(payloadOf({ mode: 1, inner: { value } }), terms)
      assert.strictEqual(wordOf(read), "unsupported_authorization/send_mode")
    }
  })

  for (const mode of [0, 2, 16, 17, 32, 65, 66, 80, 96, 128, 129, 130, 160, 192]) {
    it(`its mode is ${mode}`, () => {
      for (const value of [0n, 50_000_000n]) {
        const read = TonAuthorization.read(payloadOf({ mode, inner: { value } }), terms)
        assert.strictEqual(wordOf(read), "unsupported_authorization/send_mode")
      }
    })
  }

  it("its kind is not offered", () =>
    assert.strictEqual(
      wordOf(TonAuthorization.read(payloadOf(), { ...terms, kinds: ["external"] })),
      "unsupported_authorization/kind"
    ))
})

describe("an external request", () => {
  const to = Forgery.addressOf(payer.raw)
  const external = (forged: Forged, op = 0x7369676e): ExactTon.Payload => {
    const body = bodyOf({ ...forged, request: { op, ...forged.request } })
    return { kind: "external", boc: TonBoc.toBase64(TonMessage.external(to, body)), from: payer.raw }
  }

  it("is accepted with mode 3 and an amount of its own, with any destination of the unused TON", () => {
    for (const responseTo of [to, undefined]) {
      const good = external({ mode: 3, inner: { value: 50_000_000n }, transfer: { responseTo } })
      assert.strictEqual(wordOf(TonAuthorization.read(good, terms)), "taken")
    }
  })

  it("is refused with a mode by which W5 burns its number and sends nothing", () => {
    for (const mode of [1, 64]) {
      const bad = external({ mode, inner: { value: mode === 64 ? 0n : 50_000_000n } })
      assert.strictEqual(wordOf(TonAuthorization.read(bad, terms)), "unsupported_authorization/send_mode")
    }
  })

  it("does not fit an internal message, nor an internal request an external one", () => {
    const inside = external({ mode: 3, inner: { value: 50_000_000n } }, 0x73696e74)
    assert.strictEqual(wordOf(TonAuthorization.read(inside, terms)), "unsupported_authorization/request")
    assert.strictEqual(wordOf(TonAuthorization.read({ ...payloadOf(), kind: "external" }, terms)), "malformed/kind")
  })

  const { publicKey } = payer
  const older = (version: "v4r2" | "v3r2", op = 0): Cell => {
    const body = Forgery.transfer({ amount: 10_000n, to: payTo, responseTo: to })
    const message = Forgery.message({ to: jettonWallet, body, value: 50_000_000n })
    const words = beginCell()
      .storeUint(698983191, 32)
      .storeUint(now + 60, 32)
      .storeUint(3, 32)
    if (version === "v4r2") words.storeUint(op, 8)
    const unsigned = words.storeUint(3, 8).storeRef(message).endCell()
    const signature = Ed25519.javaScript.sign(payer.seed, unsigned.hash())
    return beginCell().storeBuffer(Buffer.from(signature)).storeSlice(unsigned.beginParse()).endCell()
  }

  for (const version of ["v4r2", "v3r2"] as const) {
    it(`of a ${version} wallet is read with its signature in front`, () => {
      const boc = TonBoc.toBase64(TonMessage.external(to, older(version)))
      const { request } = Result.getOrThrow(TonAuthorization.read({ kind: "external", boc, from: payer.raw }, terms))
      assert.strictEqual(request.version, version)
      assert.strictEqual(request.seqno, 3)
      assert.isTrue(Ed25519.javaScript.verify(publicKey, request.signedHash, request.signature))
    })
  }

  it("of a v4r2 wallet is refused where it installs a plugin", () => {
    const boc = TonBoc.toBase64(TonMessage.external(to, older("v4r2", 1)))
    const read = TonAuthorization.read({ kind: "external", boc, from: payer.raw }, terms)
    assert.strictEqual(wordOf(read), "unsupported_authorization/request")
  })
})

describe("a message is malformed where", () => {
  const good = payloadOf()
  const root = Cell.fromBase64(good.boc)
  const cases: Readonly<Record<string, ExactTon.Payload>> = {
    "it is no base64": { ...good, boc: `${good.boc} ` },
    "it is cut off": { ...good, boc: good.boc.slice(0, -4) },
    "it has no checksum": { ...good, boc: root.toBoc({ crc32: false }).toString("base64") },
    "something follows it": {
      ...good,
      boc: Buffer.concat([Buffer.from(good.boc, "base64"), Buffer.alloc(1)]).toString("base64")
    },
    "it says another payer": { ...good, from: payTo },
    "it says no payer": { ...good, from: "nobody" },
    "it does not bounce": {
      ...good,
      boc: TonBoc.toBase64(
        Forgery.message({ to: Forgery.addressOf(payer.raw), flags: 0b10000, body: root.refs[0] ?? Cell.EMPTY })
      )
    },
    "it brings money": {
      ...good,
      boc: TonBoc.toBase64(
        Forgery.message({ to: Forgery.addressOf(payer.raw), value: 1n, body: root.refs[0] ?? Cell.EMPTY })
      )
    }
  }
  for (const [name, payload] of Object.entries(cases)) {
    it(`namely ${name}`, () => assert.match(wordOf(TonAuthorization.read(payload, terms)), /^malformed\//))
  }
})

const rebuilt = (changed: ReadonlyArray<boolean>, refs: ReadonlyArray<Cell>) => {
  const builder = beginCell()
  for (const bit of changed) builder.storeBit(bit)
  for (const ref of refs) builder.storeRef(ref)
  return builder.endCell()
}

/** Every tree that differs from this one in one bit. */
function* flips(cell: Cell): Generator<Cell> {
  const bits = Array.from({ length: cell.bits.length }, (_, at) => cell.bits.at(at))
  for (const at of bits.keys()) {
    yield rebuilt(
      bits.map((bit, index) => (index === at ? !bit : bit)),
      cell.refs
    )
  }
  for (const [place, ref] of cell.refs.entries()) {
    for (const flipped of flips(ref)) yield rebuilt(bits, cell.refs.with(place, flipped))
  }
}

describe("a good payment with one bit flipped", () => {
  const good = payloadOf()
  const { code, data } = TonWallet.w5Init(payer.publicKey, TonNetwork.walletId(TonNetwork.local))
  const account = {
    state: "active",
    balance: 0n,
    code: code ?? undefined,
    data: data ?? undefined,
    last: { lt: 0n, hash: "" },
    head: { number: 1n, hash: "", time: now }
  } as const
  const judge = { ed25519: Ed25519.fromNode() ?? Ed25519.javaScript, extendedPayers: false, network: TonNetwork.local }
  const isTaken = (payload: ExactTon.Payload): boolean => {
    const read = TonAuthorization.read(payload, terms)
    if (Result.isFailure(read)) return false
    const judged = TonPayer.check(judge, read.success, account)
    return Result.isSuccess(judged) && judged.success.ahead === 0
  }

  it("is accepted without the flip", () => assert.isTrue(isTaken(good)))

  it("is refused, for every bit of every cell", () => {
    let count = 0
    for (const flipped of flips(Cell.fromBase64(good.boc))) {
      count++
      assert.isFalse(isTaken({ ...good, boc: TonBoc.toBase64(flipped) }), `flip ${count}`)
    }
    assert.isAbove(count, 1_700)
  })

  it("is refused, for every bit of its bytes", () => {
    const bytes = Buffer.from(good.boc, "base64")
    for (let at = 0; at < bytes.length * 8; at++) {
      const flipped = Buffer.from(bytes)
      flipped[at >> 3] = (flipped[at >> 3] ?? 0) ^ (1 << (at & 7))
      assert.isFalse(isTaken({ ...good, boc: flipped.toString("base64") }), `bit ${at}`)
    }
  })
})
