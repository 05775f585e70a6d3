/**
 * New histories of the suite, on every machine as many: what one in a hundred shows is found by nine runs of ten.
 * `SIMULATION_HISTORIES` for more.
 */
export const suiteHistories = Number(process.env.SIMULATION_HISTORIES ?? '240')

/** Steps of the longest history that shows a fault, once it is reduced. */
export const mostFaultSteps = 20
