import { testObserved, testTemplate } from './own-test.ts'

testTemplate('php-server')
testObserved('php-server')
