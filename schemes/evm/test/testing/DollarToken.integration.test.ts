import { assert, describe, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { encodeFunctionData, type Hex } from "viem"

import * as EvmCrypto from "../../src/crypto/EvmCrypto.ts"
import * as EvmSignature from "../../src/crypto/EvmSignature.ts"
import * as EvmRpc from "../../src/node/EvmRpc.ts"
import * as EvmAddress from "../../src/primitives/EvmAddress.ts"
import * as EvmHex from "../../src/primitives/EvmHex.ts"
import {
  Delegate7702,
  DollarToken,
  Erc1271Wallet,
  EvmTestChain,
  FeeToken,
  GasBurner1271,
  ReturnBomb1271,
  SilentToken
} from "../../src/testing/index.ts"
import * as Eip3009 from "../../src/transfer/Eip3009.ts"
import * as EvmRevert from "../../src/transfer/EvmRevert.ts"
import * as TestAuthorization from "../TestAuthorization.ts"

const { address } = TestAuthorization
const chain = EvmTestChain.EvmTestChain
const gas = 300_000n

const connect = Effect.flatMap(chain, ({ network, rpcUrl }) => EvmRpc.make({ url: rpcUrl, network }))

/** The token's outcome for a simulated call: `Settles`, or the reason why not. */
const simulate = Effect.fnUntraced(function* (data: Hex, token?: string) {
  const { accounts, token: ours } = yield* chain
  const rpc = yield* connect
  const from = address(accounts.signers[0].address)
  const outcome = yield* rpc.call({ from, to: address(token ?? ours.address), data, gas })
  return outcome._tag === "Returned" ? "Settles" : EvmRevert.fromCall(outcome)._tag
})

/** Sends a call to the token in a transaction of a facilitator's signer. */
const settle = Effect.fnUntraced(function* (data: Hex, token?: string) {
  const { accounts, send, token: ours } = yield* chain
  return yield* send({ from: accounts.signers[0].address, to: address(token ?? ours.address), data, gas })
})

const ownerCalls = Effect.fnUntraced(function* (
  functionName: "pause" | "unpause" | "blacklist" | "unBlacklist",
  account?: Hex
) {
  const { send, token } = yield* chain
  const args = account === undefined ? ([] as const) : ([account] as const)
  const receipt = yield* send({
    to: token.address,
    data: encodeFunctionData({ abi: DollarToken.abi, functionName, args })
  })
  assert.strictEqual(receipt.status, "success")
})

describe("DollarToken", () => {
  layer(EvmTestChain.layer({ payers: 4 }))((it) => {
    it.effect("has the domain its authorizations are hashed under", () =>
      Effect.gen(function* () {
        const { client, token } = yield* chain
        const functionName = "DOMAIN_SEPARATOR"
        const onChain = yield* Effect.promise(() =>
          client.readContract({ address: token.address, abi: DollarToken.abi, functionName })
        )
        assert.strictEqual(EvmHex.fromBytes(Eip3009.domainSeparator(yield* TestAuthorization.domain())), onChain)
      })
    )

    it.effect("settles by both overloads, logs the use and then the transfer, and refuses a second time", () =>
      Effect.gen(function* () {
        const { accounts, balanceOf } = yield* chain
        for (const encode of [Eip3009.encodeTransferByParts, Eip3009.encodeTransferByBytes]) {
          const before = yield* balanceOf(accounts.payee.address)
          const authorization = yield* TestAuthorization.make()
          const data = encode(authorization, yield* TestAuthorization.sign(authorization))
          assert.strictEqual(yield* simulate(data), "Settles")
          const { logs, status } = yield* settle(data)
          assert.strictEqual(status, "success")
          assert.deepStrictEqual(
            logs.map((log) => log.topics),
            [
              [Eip3009.authorizationUsedTopic, Eip3009.addressTopic(authorization.from), authorization.nonce],
              [Eip3009.transferTopic, ...[authorization.from, authorization.to].map(Eip3009.addressTopic)]
            ]
          )
          assert.strictEqual(yield* balanceOf(accounts.payee.address), before + authorization.value)
          assert.strictEqual(yield* simulate(data), "UsedOrCanceled")
        }
      })
    )

    it.effect("answers what the state of an authorization is", () =>
      Effect.gen(function* () {
        const { token } = yield* chain
        const rpc = yield* connect
        const authorization = yield* TestAuthorization.make()
        const data = Eip3009.encodeAuthorizationState(authorization.from, authorization.nonce)
        const state = rpc.call({ to: address(token.address), data, gas })
        assert.deepStrictEqual(yield* state, { _tag: "Returned", data: `0x${EvmHex.toWord(0)}` })
        yield* settle(Eip3009.encodeTransferByParts(authorization, yield* TestAuthorization.sign(authorization)))
        assert.deepStrictEqual(yield* state, { _tag: "Returned", data: `0x${EvmHex.toWord(1)}` })
      })
    )

    it.effect("refuses an authorization that was canceled", () =>
      Effect.gen(function* () {
        const { accounts } = yield* chain
        const [payer] = accounts.payers
        const { from, nonce, ...rest } = yield* TestAuthorization.make()
        const domain = yield* TestAuthorization.domain()
        const cancel = {
          domain,
          types: {
            CancelAuthorization: [
              { name: "authorizer", type: "address" },
              { name: "nonce", type: "bytes32" }
            ]
          },
          primaryType: "CancelAuthorization",
          message: { authorizer: from, nonce }
        } as const
        const signature = yield* Effect.promise(() => payer.signTypedData(cancel))
        const args = [from, nonce, signature] as const
        yield* settle(encodeFunctionData({ abi: DollarToken.abi, functionName: "cancelAuthorization", args }))
        const authorization = { from, nonce, ...rest }
        const data = Eip3009.encodeTransferByParts(authorization, yield* TestAuthorization.sign(authorization))
        assert.strictEqual(yield* simulate(data), "UsedOrCanceled")
      })
    )

    it.effect("excludes both ends of the window", () =>
      Effect.gen(function* () {
        const { client, setNextBlockTimestamp } = yield* chain
        const at = Effect.fnUntraced(function* (after: bigint, before: bigint) {
          const { timestamp } = yield* Effect.promise(() => client.getBlock())
          const next = timestamp + 10n
          const window = { validAfter: next + after, validBefore: next + before }
          const authorization = yield* TestAuthorization.make(window)
          const signature = yield* TestAuthorization.sign(authorization)
          yield* setNextBlockTimestamp(next)
          return (yield* settle(Eip3009.encodeTransferByParts(authorization, signature))).status
        })
        assert.strictEqual(yield* at(-1n, 1n), "success")
        assert.strictEqual(yield* at(0n, 1n), "reverted")
        assert.strictEqual(yield* at(-1n, 0n), "reverted")
      })
    )

    it.effect("says what is wrong with an authorization", () =>
      Effect.gen(function* () {
        const { accounts } = yield* chain
        const said = Effect.fnUntraced(function* (fields: Partial<Eip3009.TransferWithAuthorization>) {
          const authorization = yield* TestAuthorization.make(fields)
          return yield* simulate(
            Eip3009.encodeTransferByParts(authorization, yield* TestAuthorization.sign(authorization))
          )
        })
        assert.strictEqual(yield* said({ validBefore: 1n }), "Expired")
        assert.strictEqual(yield* said({ validAfter: 2n ** 40n, validBefore: 2n ** 41n }), "NotYetValid")
        assert.strictEqual(yield* said({ value: 2n ** 200n }), "InsufficientBalance")
        assert.strictEqual(yield* said({ from: address(accounts.payee.address) }), "InvalidSignature")
        assert.strictEqual(yield* said({ to: EvmAddress.zero }), "Other")
        assert.strictEqual(yield* said({ value: 0n }), "Settles")
        assert.strictEqual(yield* said({ to: address(accounts.payers[0].address) }), "Settles")
      })
    )

    it.effect("takes a plain account's signature in one form", () =>
      Effect.gen(function* () {
        const authorization = yield* TestAuthorization.make()
        const hex = yield* TestAuthorization.sign(authorization)
        const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
        const highS = EvmHex.toWord(order - BigInt(`0x${hex.slice(66, 130)}`))
        const otherV = hex.endsWith("1b") ? "1c" : "1b"
        const irregular: ReadonlyArray<readonly [EvmSignature.Irregularity, Hex]> = [
          ["high_s", `0x${hex.slice(2, 66)}${highS}${otherV}`],
          ["recovery_id", `0x${hex.slice(2, 130)}${hex.endsWith("1b") ? "00" : "01"}`],
          ["compact", `0x${hex.slice(2, 130)}`],
          ["length", `0x${hex.slice(2)}00`],
          ["length", "0x"]
        ]
        for (const [irregularity, signature] of irregular) {
          const parsed = EvmSignature.fromText(signature)
          assert(parsed._tag === "ContractOnly")
          assert.strictEqual(parsed.irregularity, irregularity)
          const said = yield* simulate(Eip3009.encodeTransferByBytes(authorization, signature))
          assert.strictEqual(said, "InvalidSignature", irregularity)
        }
      })
    )

    it.effect("refuses while paused, and for accounts on its blacklist", () =>
      Effect.gen(function* () {
        const { accounts } = yield* chain
        const authorization = yield* TestAuthorization.make()
        const data = Eip3009.encodeTransferByParts(authorization, yield* TestAuthorization.sign(authorization))
        yield* ownerCalls("pause")
        assert.strictEqual(yield* simulate(data), "Paused")
        yield* ownerCalls("unpause")
        for (const account of [accounts.payers[0].address, accounts.payee.address]) {
          yield* ownerCalls("blacklist", account)
          assert.strictEqual(yield* simulate(data), "Blacklisted")
          yield* ownerCalls("unBlacklist", account)
        }
        assert.strictEqual(yield* simulate(data), "Settles")
      })
    )

    it.effect("lets only the payee receive by authorization", () =>
      Effect.gen(function* () {
        const authorization = yield* TestAuthorization.make()
        const hex = yield* TestAuthorization.sign(authorization)
        const { from, nonce, to, validAfter, validBefore, value } = authorization
        const args = [from, to, value, validAfter, validBefore, nonce, hex] as const
        const data = encodeFunctionData({ abi: DollarToken.abi, functionName: "receiveWithAuthorization", args })
        assert.strictEqual(yield* simulate(data), "Other")
      })
    )

    it.effect("asks a contract payer by ERC-1271, in both overloads", () =>
      Effect.gen(function* () {
        const { accounts, deploy, mint } = yield* chain
        const [owner] = accounts.payers
        const wallet = yield* deploy(Erc1271Wallet, [owner.address])
        yield* mint(wallet, 10_000n)
        const authorization = yield* TestAuthorization.make({ from: address(wallet) })
        const signature = yield* TestAuthorization.sign(authorization, owner)
        const foreign = yield* TestAuthorization.sign(authorization, accounts.payers[1])
        for (const encode of [Eip3009.encodeTransferByParts, Eip3009.encodeTransferByBytes]) {
          assert.strictEqual(yield* simulate(encode(authorization, signature)), "Settles")
          assert.strictEqual(yield* simulate(encode(authorization, foreign)), "InvalidSignature")
        }
        const { status } = yield* settle(Eip3009.encodeTransferByBytes(authorization, signature))
        assert.strictEqual(status, "success")
      })
    )

    it.effect("asks only the delegate of a delegated account (EIP-7702)", () =>
      Effect.gen(function* () {
        const { accounts, delegate, deploy, token } = yield* chain
        const [, willing, mute] = accounts.payers
        assert(willing !== undefined && mute !== undefined)
        yield* delegate(willing, yield* deploy(Delegate7702))
        yield* delegate(mute, token.address)
        for (const [payer, expected] of [
          [willing, "Settles"],
          [mute, "InvalidSignature"]
        ] as const) {
          const authorization = yield* TestAuthorization.make({ from: address(payer.address) })
          const hex = yield* TestAuthorization.sign(authorization, payer)
          const signature = EvmSignature.fromText(hex)
          assert(signature._tag === "Ecdsa")
          const digest = Eip3009.digest(yield* TestAuthorization.domain(), authorization)
          assert.strictEqual(EvmSignature.recoverAddress(digest, signature, EvmCrypto.javaScript), authorization.from)
          assert.strictEqual(yield* simulate(Eip3009.encodeTransferByParts(authorization, hex)), expected)
        }
      })
    )

    it.effect("fails within the gas it is given when the payer is hostile", () =>
      Effect.gen(function* () {
        const { deploy, mint } = yield* chain
        for (const artifact of [GasBurner1271, ReturnBomb1271]) {
          const payer = yield* deploy(artifact)
          yield* mint(payer, 10_000n)
          const authorization = yield* TestAuthorization.make({ from: address(payer) })
          const data = Eip3009.encodeTransferByBytes(authorization, "0x1234")
          assert.notStrictEqual(yield* simulate(data), "Settles")
          const { gasUsed, status } = yield* settle(data)
          assert.strictEqual(status, "reverted")
          assert.isAtMost(Number(gasUsed), Number(gas))
        }
      })
    )

    it.effect("has dishonest relatives: one that keeps a fee, one that moves nothing", () =>
      Effect.gen(function* () {
        const { accounts, balanceOf, deploy, send, token, transfers } = yield* chain
        const [payer] = accounts.payers
        for (const [artifact, received] of [
          [FeeToken, [9_900n, 100n]],
          [SilentToken, []]
        ] as const) {
          const relative = yield* deploy(artifact, [token.name, token.symbol, token.version])
          const args = [payer.address, 10_000n] as const
          const data = encodeFunctionData({ abi: DollarToken.abi, functionName: "mint", args })
          yield* send({ to: relative, data })
          const authorization = yield* TestAuthorization.make()
          const signature = yield* TestAuthorization.sign(authorization, payer, relative)
          const receipt = yield* settle(Eip3009.encodeTransferByParts(authorization, signature), relative)
          assert.strictEqual(receipt.status, "success")
          const fromBlock = receipt.blockNumber
          const values = (yield* transfers({ token: relative, fromBlock })).map((transfer) => transfer.value)
          assert.deepStrictEqual<ReadonlyArray<bigint>>(values, received)
          assert.strictEqual(yield* balanceOf(accounts.payee.address, relative), received[0] ?? 0n)
        }
      })
    )

    it.effect("lets a holder allow a spender by signature (EIP-2612)", () =>
      Effect.gen(function* () {
        const { accounts, client, send, token } = yield* chain
        const [holder] = accounts.payers
        const spender = accounts.stranger.address
        const permit = {
          domain: yield* TestAuthorization.domain(),
          types: {
            Permit: [
              { name: "owner", type: "address" },
              { name: "spender", type: "address" },
              { name: "value", type: "uint256" },
              { name: "nonce", type: "uint256" },
              { name: "deadline", type: "uint256" }
            ]
          },
          primaryType: "Permit",
          message: { owner: holder.address, spender, value: 7n, nonce: 0n, deadline: 2n ** 256n - 1n }
        } as const
        const signature = yield* Effect.promise(() => holder.signTypedData(permit))
        const { deadline, owner, value } = permit.message
        const { abi } = DollarToken
        const args = [owner, spender, value, deadline, signature] as const
        yield* settle(encodeFunctionData({ abi, functionName: "permit", args }))
        const spend = encodeFunctionData({ abi, functionName: "transferFrom", args: [owner, spender, value] })
        assert.strictEqual((yield* send({ from: spender, to: token.address, data: spend })).status, "success")
        assert.strictEqual((yield* send({ from: spender, to: token.address, data: spend })).status, "reverted")
        const allowance = () =>
          client.readContract({ address: token.address, abi, functionName: "allowance", args: [owner, spender] })
        assert.strictEqual(yield* Effect.promise(allowance), 0n)
      })
    )
  })
})
