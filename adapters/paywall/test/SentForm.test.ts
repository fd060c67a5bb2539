/** Which forms count as the same: the payment of one is never sent with another. */
import { assert, describe, it } from "vitest"

import { isSame, type SentForm } from "../src/browser/SentForm.ts"

const form = (contentType: string, text: string): SentForm => ({ contentType, body: new TextEncoder().encode(text) })

const multipart = (boundary: string, name: string) =>
  form(
    `multipart/form-data; boundary=${boundary}`,
    `--${boundary}\r\nContent-Disposition: form-data; name="name"\r\n\r\n${name}\r\n--${boundary}--\r\n`
  )

describe("a form is the same", () => {
  it("with another boundary", () => assert.isTrue(isSame(multipart("one", "Ada"), multipart("two", "Ada"))))

  it("not with other content", () => {
    assert.isFalse(isSame(multipart("one", "Ada"), multipart("two", "Bob")))
    assert.isFalse(isSame(multipart("one", "Ada"), undefined))
  })

  it("not with another media type, which has the shop read other fields", () => {
    const text = "name=Ada"
    assert.isTrue(isSame(form("text/plain", text), form("text/plain", text)))
    assert.isFalse(isSame(form("text/plain", text), form("application/x-www-form-urlencoded", text)))
    const { body } = multipart("one", "Ada")
    assert.isFalse(isSame(multipart("one", "Ada"), { contentType: "text/plain", body }))
  })
})
