import { testObserved, testTemplate } from './own-test.ts'

testTemplate('java-server')
testObserved('java-server')
