import { assert, describe, it } from "@effect/vitest"

import * as RequestOrigin from "../../src/http/RequestOrigin.ts"

describe("the origin of a request", () => {
  it.each([
    ["192.0.2.7", "192.0.2.7"],
    ["::ffff:192.0.2.7", "192.0.2.7"],
    ["::FFFF:192.0.2.7", "192.0.2.7"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:DB8:0001:2::9", "2001:db8:1:2::/64"],
    ["2001:db8::1", "2001:db8:0:0::/64"],
    ["::1", "0:0:0:0::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
    ["1:2:3:4:5:6:7::", "1:2:3:4::/64"],
    ["", ""]
  ])("%s is %s", (address, place) => {
    assert.strictEqual(RequestOrigin.fromAddress(address), place)
  })
})
