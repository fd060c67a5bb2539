/** The end of a payment by a user operation, on networks with the payment guard and without it: a hostile shop keeps the operation. */
import { createServer } from "node:http"

import { assert, describe, layer } from "@effect/vitest"
import { type SchemeClient, SigningFailed } from "@pontage/core"
import * as Effect from "effect/Effect"
import { encodeAbiParameters, encodeFunctionData, type Hex, pad, parseAbi, parseAbiParameters, toHex } from "viem"
import { entryPoint07Abi, entryPoint08Abi, type SmartAccount, toPackedUserOperation } from "viem/account-abstraction"

import { deployPaymentGuard, type EvmSmartAccount, EvmHex, exactEvm, paymentGuardAddress } from "../../src/index.ts"
import { EvmTestChain, PlainToken, SmartAccountContracts, SmartAccounts } from "../../src/testing/index.ts"
import * as Operation from "../EvmTestOperation.ts"
import * as Payment from "../EvmTestPayment.ts"

const chain = EvmTestChain.EvmTestChain
const { entryPoint07, entryPoint08 } = SmartAccountContracts.published

/** The terms of a hostile shop, which names our guard on a network without it. */
const extra = {
  userOperations: { entryPoints: [entryPoint07, entryPoint08], guard: paymentGuardAddress, minimumAmount: "0" }
}

/** A network without the guard, whatever an earlier test left; the accounts' contracts are there. */
const guardless = Effect.gen(function* () {
  const one = yield* chain
  yield* SmartAccountContracts.deploy(one)
  yield* one.request("anvil_setCode", [paymentGuardAddress, "0x"])
  // With a nonce its address would be used up.
  yield* one.request("anvil_setNonce", [paymentGuardAddress, "0x0"])
  const plain = yield* one.deploy(PlainToken)
  return { one, plain, asset: { network: one.network, address: plain, symbol: "PUSD", decimals: 6 } }
})

/** Our client's answer to the hostile offer: what a node shows against it, and what it signs. */
const answered = Effect.fnUntraced(function* (payer: SchemeClient, plain: Hex, later = 0) {
  const requirements = { ...(yield* Payment.requirements), asset: plain, extra }
  const asset = payer.asset(requirements) ?? assert.fail("the client knows the token")
  assert.isUndefined(payer.objection?.(requirements, asset))
  const validBefore = Number(yield* Payment.latestTime) + 60 + later
  const { binding } = Payment.bound()
  const objection = yield* payer.chainObjection?.(requirements, asset) ?? Effect.undefined
  const signing = payer.sign({ requirements, asset, validAfter: 0, validBefore, binding })
  return { objection, validBefore, signed: yield* Effect.result(signing) }
})

interface Kept {
  readonly userOperation: Readonly<Record<string, string>> & { readonly sender: Hex; readonly signature: Hex }
}

/** The amount that the payee gets when the shop submits the operation that it kept. */
const submitted = Effect.fnUntraced(function* (kept: Kept, entryPoint: Hex, plain: Hex) {
  const { accounts, balanceOf, send } = yield* chain
  const { userOperation: fields } = kept
  const amount = (name: string) => BigInt(fields[name] ?? 0)
  const packed = toPackedUserOperation({
    ...fields,
    callData: EvmHex.fromTrusted(fields["callData"] ?? "0x"),
    nonce: amount("nonce"),
    callGasLimit: amount("callGasLimit"),
    verificationGasLimit: amount("verificationGasLimit"),
    preVerificationGas: 0n,
    maxFeePerGas: 0n,
    maxPriorityFeePerGas: 0n
  })
  const abi = entryPoint === entryPoint07 ? entryPoint07Abi : entryPoint08Abi
  const data = encodeFunctionData({ abi, functionName: "handleOps", args: [[packed], accounts.stranger.address] })
  const before = yield* balanceOf(accounts.payee.address, plain)
  yield* send({ from: accounts.stranger.address, to: entryPoint, data, gas: 3_000_000n })
  return (yield* balanceOf(accounts.payee.address, plain)) - before
})

const keptOf = ({ payload }: { readonly payload: unknown }) => payload as Kept

/** A node that answers each question with the same code, and with the number of a chain. */
const nodeOf = (code: Hex, chainId: number) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const asked: Array<string> = []
      const server = createServer((request, response) => {
        let text = ""
        request.on("data", (part: Buffer) => (text += part.toString()))
        request.on("end", () => {
          const { method }: { method: string } = JSON.parse(text)
          asked.push(method)
          const result = method === "eth_chainId" ? toHex(chainId) : code
          response.end(JSON.stringify({ jsonrpc: "2.0", id: 1, result }))
        })
      })
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
      const address = server.address()
      return { asked, server, rpcUrl: `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}` }
    }),
    ({ server }) => Effect.sync(() => server.close())
  )

/** The answer of a client of this account to the hostile offer. */
const answerOf = Effect.fnUntraced(function* (
  account: EvmSmartAccount.EvmSmartAccount,
  { asset, one, plain }: Effect.Success<typeof guardless>,
  rpcUrl?: string
) {
  const signer = exactEvm.smartAccount(account, { pays: "userOperations" })
  const options = { signer, network: one.network, assets: [asset] }
  return yield* answered(exactEvm.client(rpcUrl === undefined ? options : { ...options, rpcUrl }), plain)
})

/** Fails unless the offer is declined for this reason, by the node's word and by the signature that is not made. */
const declined = ({ objection, signed }: Effect.Success<ReturnType<typeof answered>>, reason: RegExp) => {
  assert.match(objection ?? "nothing against it", reason)
  if (signed._tag === "Success") return assert.fail("it was signed")
  assert.instanceOf(signed.failure, SigningFailed)
  assert.strictEqual(signed.failure.message, objection)
}

const withoutClient = (account: SmartAccount): EvmSmartAccount.EvmSmartAccount => {
  const { client: _, ...rest } = account
  return rest
}

/** The calls by ERC-7579 in its try mode: each may fail by itself. */
const tryMode = (list: Parameters<EvmSmartAccount.EvmSmartAccount["encodeCalls"]>[0]) =>
  encodeFunctionData({
    abi: parseAbi(["function execute(bytes32 mode, bytes data)"]),
    args: [
      pad("0x0101", { dir: "right" }),
      encodeAbiParameters(parseAbiParameters("(address, uint256, bytes)[]"), [
        list.map(({ data, to, value }) => [to, value, data] as const)
      ])
    ]
  })

describe("the end of a user operation", () => {
  layer(EvmTestChain.layer({ payers: 4 }), { excludeTestServices: true })((it) => {
    it.effect(
      "is in a Safe's signature, so that a shop cannot settle those of four days on one, without the guard",
      () =>
        Effect.gen(function* () {
          const { asset, one, plain } = yield* guardless
          const account = exactEvm.safeAccount({ owner: one.accounts.payers[0], rpcUrl: one.rpcUrl, saltNonce: 78n })
          const { factory, factoryData } = yield* Effect.promise(() => account.getFactoryArgs())
          if (factory === undefined || factoryData === undefined) return assert.fail("the Safe is not deployed yet")
          yield* one.send({ from: one.accounts.stranger.address, to: factory, data: factoryData })
          yield* Operation.mintPlain(plain, account.address)
          const payer = exactEvm.client({ account, network: one.network, assets: [asset] })
          const kept: Array<Kept> = []
          for (const day of [0, 1, 2, 3]) {
            const { objection, signed, validBefore } = yield* answered(payer, plain, day * 25 * 3_600)
            assert.isUndefined(objection)
            if (signed._tag === "Failure") return assert.fail(signed.failure.message)
            const payload = keptOf(signed.success)
            const end = toHex(validBefore - 1, { size: 6 }).slice(2)
            assert.strictEqual(payload.userOperation.signature.slice(0, 26), `0x${"0".repeat(12)}${end}`)
            kept.push(payload)
            if (day === 3) yield* Payment.finalise(BigInt(validBefore) - 30n)
          }
          const received: Array<bigint> = []
          for (const one of kept) received.push(yield* submitted(one, entryPoint07, plain))
          assert.deepStrictEqual(received, [0n, 0n, 0n, 10_000n])
        })
    )

    it.effect("lies on the guard for other accounts, which sign nothing until a node of theirs has shown it", () =>
      Effect.gen(function* () {
        const world = yield* guardless
        const { one, plain } = world
        const account = yield* Operation.simpleOf(plain, 1n)
        const bare = withoutClient(account)
        declined(
          yield* answerOf(account, world),
          /no end without the payment guard: .*0xD291.* on eip155:31337 is missing; deploy/
        )
        declined(
          yield* answerOf(bare, world, one.rpcUrl),
          / is missing; deploy it with deployPaymentGuard, or pay by exactEvm\.safeAccount$/
        )
        declined(yield* answerOf(bare, world), /: give exactEvm\.client rpcUrl, or an account with a client/)
        const other = yield* nodeOf("0x6001", one.chainId)
        declined(yield* answerOf(account, world, other.rpcUrl), / is not that of the payment guard; deploy/)
        yield* deployPaymentGuard({ signer: one.accounts.deployer, rpcUrl: one.rpcUrl })
        const code = (yield* Effect.promise(() => one.client.getCode({ address: paymentGuardAddress as Hex }))) ?? "0x"
        const far = yield* nodeOf(code, 8453)
        declined(
          yield* answerOf(account, world, far.rpcUrl),
          /the node is of eip155:8453; give rpcUrl of eip155:31337$/
        )
        const silent = yield* nodeOf("nothing" as Hex, one.chainId)
        declined(yield* answerOf(account, world, silent.rpcUrl), /the node did not show it; repeat/)
        declined(yield* answerOf(account, world, "http://127.0.0.1:1"), /the node did not show it; repeat/)
      }).pipe(Effect.scoped)
    )

    it.effect("is lost in calls that fail one by one, or that are others: a library's account then signs nothing", () =>
      Effect.gen(function* () {
        const world = yield* guardless
        const { one, plain } = world
        yield* deployPaymentGuard({ signer: one.accounts.deployer, rpcUrl: one.rpcUrl })
        const account = yield* Operation.simpleOf(plain, 3n)
        let signatures = 0
        const encoding = (encodeCalls: EvmSmartAccount.EvmSmartAccount["encodeCalls"]) => ({
          ...account,
          encodeCalls,
          signUserOperation: (operation: Parameters<typeof account.signUserOperation>[0]) => {
            signatures++
            return account.signUserOperation(operation)
          }
        })
        const encoded = (list: Parameters<EvmSmartAccount.EvmSmartAccount["encodeCalls"]>[0]) =>
          account.encodeCalls(list)
        const library = encoding(encoded)
        assert.strictEqual((yield* answerOf(library, world)).signed._tag, "Success")
        assert.strictEqual(signatures, 1)
        for (const encodeCalls of [
          async (list) => tryMode(list),
          (list) => encoded(list.toReversed()),
          (list) => encoded(list.slice(1)),
          (list) => encoded([...list, ...list.slice(1)]),
          async () => "0x" as const
        ] satisfies ReadonlyArray<EvmSmartAccount.EvmSmartAccount["encodeCalls"]>) {
          const { signed } = yield* answerOf(encoding(encodeCalls), world)
          if (signed._tag === "Success") return assert.fail("it was signed")
          assert.match(String(signed.failure.cause), /encodeCalls made something else than the payment's calls/)
        }
        assert.strictEqual(signatures, 1)
      })
    )

    it.effect("is enforced by the guard that a node has shown, which is asked once for a network", () =>
      Effect.gen(function* () {
        const world = yield* guardless
        const { asset, one, plain } = world
        yield* deployPaymentGuard({ signer: one.accounts.deployer, rpcUrl: one.rpcUrl })
        const code = (yield* Effect.promise(() => one.client.getCode({ address: paymentGuardAddress as Hex }))) ?? "0x"
        const { asked, rpcUrl } = yield* nodeOf(code, one.chainId)
        const account = yield* Operation.simpleOf(plain, 2n)
        const safe = yield* Effect.promise(() => SmartAccounts.safe(one, one.accounts.payers[0]))
        yield* Operation.mintPlain(plain, safe.address)
        const client = (signer: SmartAccount, url?: string) =>
          exactEvm.client({
            signer: exactEvm.smartAccount(signer),
            network: one.network,
            assets: [asset],
            ...(url !== undefined && { rpcUrl: url })
          })
        for (const [account_, payer, entryPoint] of [
          [account, client(account, rpcUrl), entryPoint08],
          [safe, client(safe), entryPoint07]
        ] as const) {
          const [early, late] = [yield* answered(payer, plain), yield* answered(payer, plain)]
          if (early.signed._tag === "Failure" || late.signed._tag === "Failure") return assert.fail("both are signed")
          assert.strictEqual(
            yield* submitted(keptOf(early.signed.success), entryPoint, plain),
            10_000n,
            account_.address
          )
          yield* Payment.finalise(BigInt(late.validBefore) + 30n * 86_400n)
          const { factory: _, factoryData: __, ...rest } = keptOf(late.signed.success).userOperation
          const kept = { userOperation: rest as Kept["userOperation"] }
          assert.strictEqual(yield* submitted(kept, entryPoint, plain), 0n, account_.address)
        }
        assert.deepStrictEqual(asked, ["eth_chainId", "eth_getCode"])
      }).pipe(Effect.scoped)
    )
  })
})
