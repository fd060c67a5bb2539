import { describe, it } from "@effect/vitest"
import { HostLaws } from "@pontage/core/testing"
import * as Effect from "effect/Effect"

import * as HonoSubject from "./HonoSubject.ts"

for (const manner of ["map", "steps"] as const) {
  describe(`the laws of a host, kept by Hono with ${manner}`, () => {
    const more = manner === "map" ? HostLaws.discovering : []
    for (const law of [...HostLaws.all, ...HostLaws.notRepeating, ...more]) {
      it.live(law.name, () => Effect.provideService(law.effect, HostLaws.Subject, HonoSubject.make(manner)))
    }
  })
}
