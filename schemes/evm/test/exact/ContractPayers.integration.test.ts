/** Payers with code that takes a simulation for what it is, and those whose code is known: who may pay, and who may not. */
import { assert, describe, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { type Address, type Hex, keccak256 } from "viem"

import { Delegate7702, Erc1271Wallet, EvmTestChain, NestedWallet, SwayingWallet } from "../../src/testing/index.ts"
import * as Payment from "../EvmTestPayment.ts"
import * as RpcProxy from "../RpcProxy.ts"

const chain = EvmTestChain.EvmTestChain

/** The facts by which the hostile wallet recognises a simulation. */
const Sign = { GasPrice: 0, BlockNumber: 1, Origin: 2, Coinbase: 3, Timestamp: 4 } as const

const anySignature = { signature: (): string => "0x1234" }

const funded = Effect.fnUntraced(function* (artifact: EvmTestChain.Artifact, args: ReadonlyArray<unknown> = []) {
  const { deploy, mint } = yield* chain
  const wallet = yield* deploy(artifact, args)
  yield* mint(wallet, 1_000_000n)
  return wallet
})

/** Runtime code as an artifact: init code that returns it. */
const codeOf = (runtime: Hex): EvmTestChain.Artifact => {
  const size = ((runtime.length - 2) / 2).toString(16).padStart(4, "0")
  return { abi: [], bytecode: `0x61${size}600e60003961${size}6000f3${runtime.slice(2)}` }
}

/** A minimal proxy (EIP-1167) of a contract. */
const cloneOf = (implementation: Address) =>
  funded(codeOf(`0x363d3d373d3d3d363d73${implementation.slice(2).toLowerCase()}5af43d82803e903d91602b57fd5bf3`))

const verdict = Effect.fnUntraced(function* (options: Payment.FacilitatorOptions, deviation: Payment.Deviation) {
  const schemeFacilitator = yield* Payment.scheme(yield* chain, options)
  return yield* Payment.outcome(
    Effect.flatMap(Payment.read(schemeFacilitator, yield* Payment.payment(deviation)), (payment) =>
      schemeFacilitator.verify(payment)
    )
  )
})

const headNumber = Effect.flatMap(chain, ({ client }) => Effect.promise(() => client.getBlockNumber()))

const unknown = "unsupported_authorization payer_code_unknown"

describe("a payer whose code looks at where it runs", () => {
  layer(EvmTestChain.layer(), { excludeTestServices: true })((it) => {
    it.effect("is found out where any code may pay, and unknown where only known code may", () =>
      Effect.gen(function* () {
        const { accounts } = yield* chain
        const [one, other] = accounts.signers
        const refused = "INVALID_SIGNATURE token_refused"
        const sways = "unsupported_authorization payer_code_sways"
        const cases = [
          ["at a gas price of nothing", [Sign.GasPrice, 0n], refused],
          // Two blocks deploy and fund it: its verification sees the last block in which it signs.
          ["up to this block", [Sign.BlockNumber, (yield* headNumber) + 4n], sways],
          ["for one of two senders", [Sign.Origin, BigInt(one.address)], refused],
          ["up to this moment, for ever valid", [Sign.Timestamp, BigInt(Math.floor(Date.now() / 1000)) + 30n], sways],
          ["up to this moment", [Sign.Timestamp, BigInt(Math.floor(Date.now() / 1000)) + 30n], sways]
        ] as const
        for (const [what, args, expected] of cases) {
          const from = yield* funded(SwayingWallet, args)
          const deviation = {
            from,
            ...anySignature,
            ...(what.endsWith("for ever valid") && { signed: { validBefore: 2n ** 200n } })
          }
          const options = { signer: [one, other] }
          assert.strictEqual(yield* verdict({ ...options, contractPayers: "any" }, deviation), expected, what)
          assert.include([unknown, refused], yield* verdict(options, deviation), what)
        }
      })
    )

    it.effect("does not pay by a good signature of the key that it is delegated by", () =>
      Effect.gen(function* () {
        const { accounts, delegate, deploy } = yield* chain
        const [, account] = accounts.payers
        if (account === undefined) return assert.fail("there is a second payer")
        const deviation = { from: account.address, signer: account }
        assert.strictEqual(yield* verdict({}, deviation), "ok")
        yield* delegate(account, yield* deploy(SwayingWallet, [Sign.GasPrice, 0n]))
        assert.strictEqual(yield* verdict({}, deviation), "INVALID_SIGNATURE token_refused")
        assert.strictEqual(yield* verdict({ contractPayers: "any" }, deviation), "INVALID_SIGNATURE token_refused")
        yield* delegate(account, yield* deploy(SwayingWallet, [Sign.Coinbase, 0n]))
        assert.strictEqual(yield* verdict({}, deviation), unknown)
        assert.strictEqual(
          yield* verdict({ contractPayers: "none" }, deviation),
          "unsupported_authorization payer_has_code"
        )
      })
    )
  })
})

describe("a payer whose code is known", () => {
  layer(EvmTestChain.layer(), { excludeTestServices: true })((it) => {
    it.effect("pays through a minimal proxy, by its implementation's address", () =>
      Effect.gen(function* () {
        const { accounts, deploy } = yield* chain
        const implementation = yield* deploy(Erc1271Wallet, [accounts.payers[0].address])
        const from = yield* cloneOf(implementation)
        assert.strictEqual(yield* verdict({}, { from }), unknown)
        assert.strictEqual(yield* verdict({ knownImplementations: [implementation] }, { from }), "ok")
        assert.strictEqual(
          yield* verdict({ knownImplementations: [implementation], contractPayers: "none" }, { from }),
          "INVALID_SIGNATURE payer_mismatch"
        )
      })
    )

    it.effect("pays while one signer has too little coin, and not where none has enough", () =>
      Effect.gen(function* () {
        const { accounts, client, deploy, setBalance } = yield* chain
        const signer = accounts.signers.slice(0, 2)
        const owned = yield* Effect.forEach(signer, (one) => Effect.promise(() => client.getBalance(one)))
        const implementation = yield* deploy(Erc1271Wallet, [accounts.payers[0].address])
        const from = yield* cloneOf(implementation)
        for (const policy of [
          { knownImplementations: [implementation] },
          { contractPayers: "any" }
        ] satisfies ReadonlyArray<Partial<Payment.FacilitatorOptions>>) {
          const options = { signer, ...policy }
          const words: Array<string> = []
          for (const poor of [[0], [1], [0, 1]]) {
            for (const index of poor) yield* setBalance(signer[index]?.address ?? "0x", 1_000n)
            words.push(yield* verdict(options, { from }))
            for (const index of poor) yield* setBalance(signer[index]?.address ?? "0x", owned[index] ?? 0n)
          }
          assert.deepStrictEqual(words, ["ok", "ok", "ChainUnavailable"])
        }
      })
    )

    it.effect("pays by the hash of its code, and by a delegation to known code", () =>
      Effect.gen(function* () {
        const { accounts, client, delegate, deploy } = yield* chain
        const [owner, account] = accounts.payers
        if (account === undefined) return assert.fail("there is a second payer")
        const from = yield* funded(Erc1271Wallet, [owner.address])
        const code = (yield* Effect.promise(() => client.getCode({ address: from }))) ?? "0x"
        assert.strictEqual(yield* verdict({ knownImplementations: [keccak256(code)] }, { from }), "ok")
        const delegated = { from: account.address, signer: account }
        const to = yield* deploy(Delegate7702)
        yield* delegate(account, to)
        assert.strictEqual(yield* verdict({}, delegated), unknown)
        assert.strictEqual(yield* verdict({ knownImplementations: [to] }, delegated), "ok")
      })
    )

    it.effect("does not pay through an owner whose code is unknown: that would be asked too", () =>
      Effect.gen(function* () {
        const { accounts, deploy } = yield* chain
        const hostile = yield* deploy(SwayingWallet, [Sign.Coinbase, 0n])
        const faithful = yield* deploy(Erc1271Wallet, [accounts.payers[0].address])
        for (const [owner, known, expected] of [
          [hostile, [], unknown],
          [faithful, [], unknown],
          [faithful, [faithful], "ok"],
          [accounts.payers[0].address, [], "ok"]
        ] as const) {
          const implementation = yield* deploy(NestedWallet, [owner])
          const from = yield* cloneOf(implementation)
          const options = { knownImplementations: [implementation, ...known] }
          assert.strictEqual(yield* verdict(options, { from }), expected)
        }
      })
    )

    it.effect("is not known by a slot that says so, nor by a proxy that is nearly one", () =>
      Effect.gen(function* () {
        const { accounts, deploy, request } = yield* chain
        const implementation = yield* deploy(Erc1271Wallet, [accounts.payers[0].address])
        const options = { knownImplementations: [implementation] }
        const from = yield* funded(SwayingWallet, [Sign.Coinbase, 0n])
        const slot = "0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc"
        yield* request("anvil_setStorageAt", [from, slot, `0x${implementation.slice(2).padStart(64, "0")}`])
        assert.strictEqual(yield* verdict(options, { from, ...anySignature }), unknown)
        const clone = `363d3d373d3d3d363d73${implementation.slice(2).toLowerCase()}5af43d82803e903d91602b57fd5bf3`
        const longer = yield* funded(codeOf(`0x${clone}00`))
        assert.strictEqual(yield* verdict(options, { from: longer }), unknown)
      })
    )

    it.effect("may be one of the wallets that the table names: a proxy of Solady's, and its implementation", () =>
      Effect.gen(function* () {
        const { accounts, client, deploy, request } = yield* chain
        const coinbase = "0x000100abaad02f1cfC8Bbe32bD5a564817339E72"
        const stand = yield* deploy(Erc1271Wallet, [accounts.payers[0].address])
        const code = (yield* Effect.promise(() => client.getCode({ address: stand }))) ?? "0x"
        const proxy =
          "0x363d3d373d3d363d7f360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc545af43d6000803e6038573d6000fd5b3d6000f3"
        const from = yield* funded(codeOf(proxy))
        const slot = "0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc"
        const runs = (address: Address) =>
          request("anvil_setStorageAt", [from, slot, `0x${address.slice(2).padStart(64, "0")}`])
        yield* runs(stand)
        assert.strictEqual(yield* verdict({}, { from }), unknown)
        yield* request("anvil_setCode", [coinbase, code])
        yield* runs(coinbase)
        assert.strictEqual(yield* verdict({}, { from }), "ok")
      })
    )

    it.effect("is refused where the node cannot tell what a call runs: that is no verdict", () =>
      Effect.gen(function* () {
        const { accounts, deploy } = yield* chain
        const proxy = yield* RpcProxy.make
        proxy.spoil("eth_createAccessList", RpcProxy.refusal(-32_601, "the method eth_createAccessList does not exist"))
        const implementation = yield* deploy(Erc1271Wallet, [accounts.payers[0].address])
        const options = { knownImplementations: [implementation], rpcUrl: proxy.url }
        assert.strictEqual(yield* verdict(options, { from: yield* cloneOf(implementation) }), "ChainUnavailable")
        assert.strictEqual(yield* verdict(options, {}), "ok")
      })
    )
  })
})

describe("knownImplementations", () => {
  layer(EvmTestChain.layer(), { excludeTestServices: true })((it) => {
    for (const wrong of ["0x12", "Safe", `0x${"g".repeat(40)}`]) {
      it.effect(`refuses ${wrong} at start`, () =>
        Effect.gen(function* () {
          const failed = yield* Effect.flip(Payment.scheme(yield* chain, { knownImplementations: [wrong] }))
          assert.strictEqual(failed._tag, "Misconfigured")
          assert.include(failed.message, wrong)
        })
      )
    }
  })
})
