import { describe, it } from "@effect/vitest"
import { HostLaws } from "@pontage/core/testing"
import * as Effect from "effect/Effect"

import * as KoaSubject from "./KoaSubject.ts"

for (const version of [2, 3] as const) {
  for (const manner of ["a gate in front", "a gate inside", "steps"] as const) {
    describe(`the laws of a host, kept by Koa ${version} with ${manner}`, () => {
      for (const law of [
        ...HostLaws.all,
        ...HostLaws.repeating,
        ...HostLaws.limiting,
        ...(manner === "steps" ? [] : HostLaws.discovering)
      ]) {
        it.live(law.name, () => Effect.provideService(law.effect, HostLaws.Subject, KoaSubject.make(version, manner)))
      }
    })
  }
}
