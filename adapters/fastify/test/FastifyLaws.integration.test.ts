import { describe, it } from "@effect/vitest"
import { HostLaws } from "@pontage/core/testing"
import * as Effect from "effect/Effect"

import * as FastifySubject from "./FastifySubject.ts"

for (const manner of ["map", "steps"] as const) {
  describe(`the laws of a host, kept by Fastify with ${manner}`, () => {
    for (const law of [
      ...HostLaws.all,
      ...HostLaws.repeating,
      ...HostLaws.limiting,
      ...(manner === "map" ? HostLaws.discovering : [])
    ]) {
      it.live(law.name, () => Effect.provideService(law.effect, HostLaws.Subject, FastifySubject.make(manner)))
    }
  })
}
