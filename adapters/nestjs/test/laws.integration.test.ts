import { describe, it } from "@effect/vitest"
import { HostLaws } from "@pontage/core/testing"
import * as Effect from "effect/Effect"

import * as NestSubject from "./NestSubject.ts"

for (const host of ["Express", "Fastify"] as const) {
  describe(`the laws of a host, kept by Nest on ${host}`, () => {
    for (const law of [...HostLaws.all, ...HostLaws.repeating, ...HostLaws.limiting, ...HostLaws.discovering]) {
      it.live(law.name, () => Effect.provideService(law.effect, HostLaws.Subject, NestSubject.make(host)))
    }
  })
}
