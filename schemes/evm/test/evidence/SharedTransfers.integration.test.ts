/** One transfer for two payments of one payer to one recipient, who signs both and pays both at once: it counts for one of them. */
import { assert, describe, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { encodeFunctionData, type Hex } from "viem"
import { entryPoint08Abi, getUserOperationHash, toPackedUserOperation } from "viem/account-abstraction"

import * as EvmTransferEvidence from "../../src/evidence/EvmTransferEvidence.ts"
import { deployPermitSettler, paymentGuardAddress } from "../../src/index.ts"
import type * as EvmRpc from "../../src/node/EvmRpc.ts"
import { CallingToken } from "../../src/testing/artifacts/CallingToken.ts"
import { EvmTestChain, Permit2Contracts } from "../../src/testing/index.ts"
import type * as Permit2 from "../../src/transfer/Permit2.ts"
import * as Batch from "../EvmTestBatch.ts"
import * as Operation from "../EvmTestOperation.ts"
import * as Payment from "../EvmTestPayment.ts"
import * as Permit from "../PermitTestPayment.ts"

const chain = EvmTestChain.EvmTestChain

/** Permit2, its proxy, and the settler that anybody may call. */
const ready = Effect.gen(function* () {
  const one = yield* chain
  yield* Permit2Contracts.deploy(one)
  yield* deployPermitSettler({ signer: one.accounts.deployer, rpcUrl: one.rpcUrl })
  return one
})

describe("one transfer for two payments", () => {
  layer(EvmTestChain.layer({ payers: 2 }), { excludeTestServices: true })((it) => {
    it.effect("of an authorization, inside a permit of the payer's own token, has paid the authorization alone", () =>
      Effect.gen(function* () {
        const one = yield* ready
        const { accounts, balanceOf, deploy, send } = one
        const [payer] = accounts.payers
        const from = accounts.stranger.address
        yield* Permit2Contracts.approve(one, payer.address)
        const scheme = yield* Payment.scheme(one, { permit2: true })
        const nonce = BigInt(Payment.freshNonce())
        const signed = yield* Batch.signedBy(payer)
        const authorized = yield* Payment.read(scheme, signed.request)
        const permitted = yield* Payment.read(scheme, yield* Permit.request({ payer, signed: { nonce } }))
        for (const payment of [authorized, permitted]) yield* scheme.verify(payment)
        const prepared = yield* Payment.prepareAlone(scheme, permitted)
        const before = yield* balanceOf(accounts.payee.address)

        const token = yield* deploy(CallingToken)
        const { data, to } = signed.call
        const args = [to, data] as const
        yield* send({ from, to: token, data: encodeFunctionData({ abi: CallingToken.abi, functionName: "aim", args }) })
        const own = yield* Permit.signed({ payer, token, signed: { nonce } })
        const attack = yield* send({ from, ...Permit.batchCall(own) })
        assert.strictEqual(attack.status, "success")
        assert.strictEqual(yield* balanceOf(accounts.payee.address), before + 10_000n)

        const paid = yield* scheme.conclude({ payment: authorized, since: prepared.head })
        assert.strictEqual(paid._tag === "Settled" && paid.transaction, attack.transactionHash)
        const seen = yield* Payment.sendAlone(scheme, permitted, prepared)
        assert.strictEqual(yield* Batch.word(seen), `already_used ${attack.transactionHash}`)
        assert.strictEqual((yield* scheme.conclude({ payment: permitted, since: prepared.head }))._tag, "Unused")
      })
    )

    it.effect("of a permit, inside a user operation of its payer, has paid the permit alone", () =>
      Effect.gen(function* () {
        const one = yield* ready
        const { accounts, balanceOf, chainId, send } = one
        const { plain } = yield* Operation.ready
        const account = yield* Operation.swaying(plain, 0, 0n)
        yield* Permit2Contracts.approve(one, account.address, plain)
        // Any signature satisfies the account.
        const signature: Hex = `0x${"11".repeat(64)}1b`
        const payer = { address: account.address, signTypedData: async () => signature }
        const permit = yield* Permit.signed({ payer, token: plain })
        const { data, to } = Permit.batchCall(permit)
        const check = encodeFunctionData({ abi: Operation.guardAbi, args: [2n ** 40n, `0x${"00".repeat(32)}`] })
        const guard = { to: Payment.parsed(paymentGuardAddress), data: check, value: 0n }
        // The settler takes more gas than a payment's operation may have, so the operation is submitted by hand.
        const operation = yield* Operation.operationOf(account, plain, {
          calls: [guard, { to, data, value: 0n }],
          signed: { callGasLimit: 500_000n }
        })
        const before = yield* balanceOf(accounts.payee.address, plain)
        const entryPoint = account.entryPoint.address
        const handled = encodeFunctionData({
          abi: entryPoint08Abi,
          functionName: "handleOps",
          args: [[toPackedUserOperation(operation)], accounts.stranger.address]
        })
        const receipt = yield* send({ from: accounts.stranger.address, to: entryPoint, data: handled, gas: 2_000_000n })
        assert.strictEqual(receipt.status, "success")
        assert.strictEqual(yield* balanceOf(accounts.payee.address, plain), before + 10_000n)

        const { amount: value, deadline, nonce, spender, to: recipient } = permit.fields
        const transfer: Permit2.PermitTransfer = {
          from: Payment.parsed(account.address),
          permitted: { token: Payment.parsed(plain), amount: value },
          spender: Payment.parsed(spender),
          nonce,
          deadline,
          witness: { to: Payment.parsed(recipient), validAfter: 0n }
        }
        const authorization = yield* Payment.authorization({ from: account.address })
        const expected = { token: Payment.parsed(plain), authorization }
        const hash = getUserOperationHash({
          chainId,
          entryPointAddress: entryPoint,
          entryPointVersion: "0.8",
          userOperation: operation
        })
        const sought = {
          entryPoint: Payment.parsed(entryPoint),
          hash,
          sender: Payment.parsed(account.address),
          nonce: operation.nonce
        }
        const logs = receipt.logs.map(({ address, data: bytes, topics }): EvmRpc.Event => ({
          address: Payment.parsed(address),
          topics,
          data: bytes
        }))
        const uses = EvmTransferEvidence.usesIn(logs)
        assert.strictEqual(EvmTransferEvidence.judge({ ...expected, permit: transfer }, uses), "paid")
        assert.strictEqual(EvmTransferEvidence.judge({ ...expected, operation: sought }, uses), "failed")
      })
    )
  })
})
