/** Sends a refusal unchanged, before a filter of the application can reshape it. */
import { type ArgumentsHost, Catch, type ExceptionFilter, Inject } from "@nestjs/common"
import { HttpAdapterHost } from "@nestjs/core"

import { PaymentRefusedException } from "./payment.exception.ts"

/** The filter; the module and `@Paid` put it in place. */
@Catch(PaymentRefusedException)
export class PaymentRefusedFilter implements ExceptionFilter<PaymentRefusedException> {
  readonly #host: HttpAdapterHost

  constructor(@Inject(HttpAdapterHost) host: HttpAdapterHost) {
    this.#host = host
  }

  catch(exception: PaymentRefusedException, host: ArgumentsHost): void {
    const { httpAdapter } = this.#host
    const response = host.switchToHttp().getResponse<unknown>()
    const { body, status } = exception.gateResponse
    if (httpAdapter.isHeadersSent(response)) httpAdapter.end(response)
    else httpAdapter.reply(response, body === "" ? undefined : body, status)
  }
}
