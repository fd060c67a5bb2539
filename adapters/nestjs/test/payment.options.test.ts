import { assert, describe, it } from "@effect/vitest"
import { Misconfigured } from "@pontage/core"

import { PaymentModule } from "../src/payment.module.ts"
import { build, hosts } from "./TestApp.ts"
import { shopOptions, terms, TestFacilitator } from "./TestShop.ts"

const good = shopOptions(new TestFacilitator())

const cases: ReadonlyArray<readonly [unknown, RegExp]> = [
  [{ ...good, route: {} }, /^route: unknown key; did you mean routes\?$/],
  [{ ...good, routes: null }, /^routes: expected a plain object, got null$/],
  [{ ...good, routes: [terms] }, /^routes: expected a plain object, got a list$/],
  [{ ...good, orgin: "https://shop.example" }, /^orgin: unknown key; did you mean origin\?$/],
  [Object.create(good), /^the options: expected a plain object/],
  [null, /^the options: expected a plain object, got null$/]
]

const mistakeOf = async (module: ReturnType<typeof PaymentModule.forRoot>): Promise<string> => {
  const [host] = hosts
  if (host === undefined) return "no host"
  try {
    const app = await build(host, { imports: [module] })
    await app.init()
    await app.close()
    return "taken"
  } catch (error) {
    return error instanceof Misconfigured ? error.message : String(error)
  }
}

describe("an application does not start with options", () => {
  it.each(cases)("%o", async (options, message) => {
    assert.match(await mistakeOf(PaymentModule.forRoot(options as never)), message)
  })

  it.each(cases)("%o of a factory", async (options, message) => {
    assert.match(await mistakeOf(PaymentModule.forRootAsync({ useFactory: () => options as never })), message)
  })
})

describe("forRootAsync refuses", () => {
  it.each([
    [{ useFactroy: () => good }, /^useFactroy: unknown key; did you mean useFactory\?$/],
    [{ useClass: Map }, /^useClass: unknown key; the keys are imports, inject, useFactory$/],
    [{ useFactory: good }, /^useFactory: expected a function, got an object$/],
    [{ useFactory: () => good, inject: "SECRETS" }, /^inject: expected a list of tokens, got a text$/]
  ])("%o", (options, message) => {
    assert.throws(() => PaymentModule.forRootAsync(options as never), message)
  })
})
