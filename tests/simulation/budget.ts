/** How long histories are run. Seconds; `SIMULATION_SECONDS` is that of the suite. */
export const suiteSeconds = Number(process.env.SIMULATION_SECONDS ?? '120')

/** Steps of the longest history that shows a fault, once it is reduced. */
export const mostFaultSteps = 20
