/** The client in a bundle for browsers: it signs where nothing of Node is there, `Buffer` least of all, and the payment is valid. */
import { runInNewContext } from "node:vm"

import { assert, describe, layer } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { build } from "esbuild"

import { TonTestChain } from "../../src/testing/index.ts"
import * as Trial from "../TonTrial.ts"

const payer = `
  import { client } from "../../src/client.ts"
  import { localSigner } from "../../src/wallet/LocalTonSigner.ts"
  import * as Effect from "effect/Effect"

  export const sign = async (given) => {
    const { assets, requirements, rpcUrl, seed, validBefore } = JSON.parse(given)
    const scheme = client({ signer: localSigner(seed), network: "ton:local", rpcUrl, assets })
    const asset = scheme.asset(requirements)
    const signed = await Effect.runPromise(scheme.sign({ requirements, asset, validAfter: 0, validBefore, binding: undefined }))
    return JSON.stringify(signed.payload)
  }
`

const bundle = () =>
  build({
    stdin: { contents: payer, resolveDir: import.meta.dirname },
    bundle: true,
    write: false,
    format: "iife",
    globalName: "bundled",
    platform: "browser",
    metafile: true,
    conditions: ["@pontage/source"],
    logLevel: "silent"
  })

/** The globals of a browser; the language's own come with the context. */
const browser = () => {
  const { AbortController, AbortSignal, Headers, Request, Response, TextDecoder, TextEncoder, URL } = globalThis
  const { clearTimeout, crypto, fetch, queueMicrotask, setTimeout } = globalThis
  const { atob, btoa, console, performance } = globalThis
  const requests = { AbortController, AbortSignal, Headers, Request, Response, TextDecoder, TextEncoder, URL }
  return { ...requests, clearTimeout, crypto, fetch, queueMicrotask, setTimeout, atob, btoa, console, performance }
}

describe("the client in a browser's bundle", () => {
  layer(TonTestChain.layer(), { excludeTestServices: true })((it) => {
    it.effect("signs without Buffer and without @ton/core, and the facilitator finds the payment good", () =>
      Effect.gen(function* () {
        const trial = yield* Trial.make()
        const [account] = trial.chain.accounts.payers
        const { metafile, outputFiles } = yield* Effect.promise(bundle)
        const read = Object.keys(metafile.inputs).filter((file) => file.includes("@ton/"))
        assert.deepStrictEqual(read, [])
        const code = outputFiles.map(({ text }) => text).join("\n")
        assert.notMatch(code, /\bBuffer\b/)
        const sign: unknown = runInNewContext(`${code}; bundled.sign`, browser())
        if (typeof sign !== "function") return assert.fail("the bundle has no function sign")
        const { raw: address, decimals, symbol } = trial.chain.jetton
        const order = {
          seed: account.seed.toString("hex"),
          rpcUrl: trial.chain.rpcUrl,
          requirements: trial.requirements,
          assets: [{ network: "ton:local", address, symbol, decimals }],
          validBefore: Math.floor((yield* Clock.currentTimeMillis) / 1000) + Trial.validSeconds
        }
        const payload: unknown = yield* Effect.promise(async () => sign(JSON.stringify(order)))
        if (typeof payload !== "string") return assert.fail("the bundle signed nothing")
        const payment = yield* Trial.read(trial, JSON.parse(payload))
        yield* trial.facilitator.verify(payment)
        assert.strictEqual(payment.authorization.payer, account.raw)
      })
    )
  })
})
