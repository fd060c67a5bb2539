/** The program of `channels.md` gets a payer its deposit back, on a real chain. */
import { execFile } from "node:child_process"
import { mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"

import { assert, it } from "@effect/vitest"
import { ChannelCall, ChannelConfig, ChannelContract, ChannelDeposit, EvmAddress, type EvmHex } from "@pontage/evm"
import { ChannelContracts, EvmTestChain } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import { environment } from "./ExampleEnvironment.ts"
import * as Markdown from "./Markdown.ts"

const address = Schema.decodeSync(EvmAddress.FromText)
const word = (value: number): EvmHex.Hex => `0x${value.toString(16).padStart(64, "0")}`

/** Opens a channel of the first payer with a dollar, and gives its terms. */
const openChannel = Effect.fnUntraced(function* (chain: EvmTestChain.Shape) {
  const { accounts, chainId, token } = chain
  const [payer] = accounts.payers
  const shop = address(accounts.payee.address)
  const config = {
    payer: address(payer.address),
    payerAuthorizer: address(payer.address),
    receiver: shop,
    receiverAuthorizer: shop,
    token: address(token.address),
    withdrawDelay: 900,
    salt: word(0)
  }
  const terms = { salt: word(1), validAfter: 0n, validBefore: 2n ** 40n }
  const domain = { name: token.name, version: token.version, chainId, verifyingContract: config.token }
  const authorization = ChannelDeposit.authorization(ChannelConfig.id(chainId, config), config.payer, 1_000_000n, terms)
  const signature = yield* Effect.promise(() =>
    payer.signTypedData(ChannelDeposit.receiveTypedData(domain, authorization))
  )
  const collected = ChannelCall.erc3009Data({ ...terms, signature })
  const data = ChannelCall.deposit(config, 1_000_000n, ChannelContract.erc3009Collector, collected)
  const receipt = yield* chain.send({ to: ChannelContract.address, data })
  assert.strictEqual(receipt.status, "success")
  return ChannelConfig.onWire(config)
})

it.live("withdraws", () =>
  Effect.gen(function* () {
    const chain = yield* EvmTestChain.make({ payers: 1 })
    yield* ChannelContracts.deploy(chain)
    const [payer] = chain.accounts.payers
    const before = yield* chain.balanceOf(payer.address)
    const file = join(mkdtempSync(join(tmpdir(), "leave-channel-")), "channel.json")
    writeFileSync(file, JSON.stringify(yield* openChannel(chain)))
    assert.strictEqual(yield* chain.balanceOf(payer.address), before - 1_000_000n)
    yield* chain.setBalance(payer.address, 10n ** 18n)
    const program = fileURLToPath(new URL("apps/docs/examples/leave-channel.mjs", Markdown.root))
    const run = Effect.promise(async (): Promise<unknown> => {
      const env = { ...environment, PRIVATE_KEY: payer.privateKey, RPC_URL: chain.rpcUrl }
      const { stdout } = await promisify(execFile)(process.execPath, ["--conditions=@pontage/source", program, file], {
        env
      })
      return JSON.parse(stdout)
    })
    assert.deepInclude(yield* run, { _tag: "Begun", amount: "1000000" })
    assert.deepInclude(yield* run, { _tag: "Waiting", amount: "1000000" })
    const { timestamp } = yield* Effect.promise(() => chain.client.getBlock())
    yield* chain.setNextBlockTimestamp(timestamp + 900n)
    yield* chain.mine()
    assert.deepInclude(yield* run, { _tag: "Paid", amount: "1000000" })
    assert.deepStrictEqual(yield* run, { _tag: "Nothing" })
    assert.strictEqual(yield* chain.balanceOf(payer.address), before)
  }).pipe(Effect.scoped)
)
